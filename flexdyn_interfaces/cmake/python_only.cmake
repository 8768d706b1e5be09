# -DFLEXDYN_PYTHON_ONLY=ON: generate what Python nodes on Fast DDS need, nothing for C++; in less than half of the time. Introspection
# stays: without it Jazzy registers no message, and Kilted writes lines of errors for each. Generators are extensions that are executed
# in the order of this list.
option(FLEXDYN_PYTHON_ONLY "Generate what Python nodes on Fast DDS need only" OFF)
if(FLEXDYN_PYTHON_ONLY)
  list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
endif()
