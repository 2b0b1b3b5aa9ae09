# The two libraries, each static and shared: libgpuc_runtime (what an application ships) and libgpuc (all).
# Targets: <name>_static and <name>_shared. EXTERNAL: what a program links beside the static one.
function(gpuc_library name)
  cmake_parse_arguments(ARG "" "WITHOUT" "FOLDERS;EXTERNAL" ${ARGN})
  set(objects)
  set(libs)
  foreach(folder ${ARG_FOLDERS})
    if(ARG_WITHOUT)
      list(APPEND objects $<FILTER:$<TARGET_OBJECTS:gpuc_${folder}_obj>,EXCLUDE,${ARG_WITHOUT}>)
    else()
      list(APPEND objects $<TARGET_OBJECTS:gpuc_${folder}_obj>)
    endif()
    get_target_property(used gpuc_${folder}_obj LINK_LIBRARIES)
    list(APPEND libs ${used})
  endforeach()
  list(REMOVE_DUPLICATES libs)
  foreach(kind static shared)
    string(TOUPPER ${kind} KIND)
    add_library(${name}_${kind} ${KIND} ${objects})
    set_target_properties(${name}_${kind} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C
      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
    target_link_libraries(${name}_${kind} PRIVATE "$<BUILD_INTERFACE:${libs}>"
      "$<INSTALL_INTERFACE:${ARG_EXTERNAL}>" m ${CMAKE_DL_LIBS} Threads::Threads)
    target_include_directories(${name}_${kind} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
      $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/config> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
  # What is linked in of others (SPIRV-Tools) is not exported.
  target_link_options(${name}_shared PRIVATE LINKER:--gc-sections LINKER:--exclude-libs,ALL)
  if(NOT GPUC_SANITIZE)
    target_link_options(${name}_shared PRIVATE LINKER:--no-undefined)
  endif()
endfunction()

list(TRANSFORM GPUC_COMPILER_FILES REPLACE "/" "_obj[.]dir/([.]/)?" OUTPUT_VARIABLE left_out)
list(JOIN left_out "|" left_out)
gpuc_library(gpuc_runtime FOLDERS ${GPUC_RUNTIME_FOLDERS} WITHOUT "gpuc_(${left_out})[.]o$")
if(GPUC_COMPILER)
  gpuc_library(gpuc FOLDERS ${GPUC_RUNTIME_FOLDERS} ${GPUC_COMPILER_FOLDERS} EXTERNAL cjson protobuf-c ${GPUC_SPIRV_TOOLS_LIBS})
endif()
