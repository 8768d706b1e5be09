# each generated file spends its time in the same large headers: compile them eight at a time
foreach(support IN ITEMS generator_c generator_py typesupport_c typesupport_fastrtps_c typesupport_fastrtps_cpp
        typesupport_introspection_c typesupport_introspection_cpp typesupport_cpp)
  set(target ${PROJECT_NAME}__rosidl_${support})
  if(TARGET "${target}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_compile_options(${target} PRIVATE -Wno-redundant-decls)
    # descriptions of two types define the same names for a third that both use
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "__description\\.c$")
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endforeach()
