# gpuc_folder(NAME SOURCES ...): one folder of src/ as an object library gpuc_NAME_obj.
# gpuc_test(NAME SOURCES ... FOLDERS ...): a cmocka program over the objects of those folders.
add_library(gpuc_flags INTERFACE)
target_compile_options(gpuc_flags INTERFACE -Wall -Wextra -Wswitch-enum
  $<$<BOOL:${GPUC_WERROR}>:-Werror>)
target_include_directories(gpuc_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(gpuc_flags INTERFACE _GNU_SOURCE GPUC_VERSION="${PROJECT_VERSION}")
if(GPUC_SANITIZE)
  target_compile_options(gpuc_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  target_link_options(gpuc_flags INTERFACE -fsanitize=address,undefined)
endif()

function(gpuc_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;INCLUDES" ${ARGN})
  add_library(gpuc_${name}_obj OBJECT ${ARG_SOURCES})
  target_link_libraries(gpuc_${name}_obj PUBLIC gpuc_flags ${ARG_LIBS})
  target_include_directories(gpuc_${name}_obj PRIVATE ${ARG_INCLUDES})
endfunction()

function(gpuc_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;FOLDERS;LIBS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  foreach(folder ${ARG_FOLDERS})
    target_link_libraries(${name} PRIVATE gpuc_${folder}_obj)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:gpuc_${folder}_obj>)
  endforeach()
  target_link_libraries(${name} PRIVATE gpuc_flags ${ARG_LIBS} cmocka m dl pthread)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT})
endfunction()
