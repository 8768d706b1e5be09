# The ROS 2 wheels from PyPI export targets that name include folders of the machine which built them.
# CMake refuses a folder that is not there ("includes non-existent path"), so drop those from every imported
# target of this directory. It runs last, when all targets are known; on a real ROS 2 it finds nothing to do.
function(flexdyn_drop_missing_includes)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT folders)
      continue()
    endif()
    set(present)
    foreach(folder IN LISTS folders)
      if(NOT IS_ABSOLUTE "${folder}" OR EXISTS "${folder}")
        list(APPEND present "${folder}")
      endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${present}")
  endforeach()
endfunction()

cmake_language(DEFER DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" CALL flexdyn_drop_missing_includes)
