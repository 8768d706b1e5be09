# -DFLEXDYN_PYTHON_ONLY=ON: generate what Python nodes on Fast DDS need (introspection of C among it), nothing for C++; half of the
# time. Generators are extensions that are executed in the order of this list.
option(FLEXDYN_PYTHON_ONLY "Generate what Python nodes on Fast DDS need only" OFF)
if(FLEXDYN_PYTHON_ONLY)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
endif()
