# -DFLEXDYN_PYTHON_ONLY=ON: generate what Python nodes on Fast DDS need, nothing for C++ and no introspection, without which
# Jazzy registers no message; a third of the time. Generators are extensions that are executed in the order of this list.
option(FLEXDYN_PYTHON_ONLY "Generate what Python nodes on Fast DDS need only" OFF)
if(FLEXDYN_PYTHON_ONLY)
  if("$ENV{FLEXDYN_DISTRO}" STREQUAL "jazzy")
    list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:")
  else()
    list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "_cpp:|_introspection_c:")
    set(STATIC_ROSIDL_TYPESUPPORT_C rosidl_typesupport_fastrtps_c)
  endif()
endif()
