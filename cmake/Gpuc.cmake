# gpuc_folder(NAME [SOURCES ...] [SMALL ...] [LIBS ...] [INCLUDES ...])
#   One folder of src/, or what several tests share, as an object library gpuc_NAME_obj: compiled once. LIBS: what its code links besides the C library.
# gpuc_test(NAME SOURCES ... FOLDERS ... [LIBS ...] [ARGS ...] [TIMEOUT seconds] [SLOW])
#   A cmocka program over the objects of those folders, and a test that runs it.
# gpuc_test_run(NAME PROGRAM [ARGS ...] [TIMEOUT seconds] [SLOW] [STRICT])
#   One more run of a program with other arguments. STRICT: on the strict device of tests/strict.
# gpuc_test_strict(NAME)
#   The same for a test that is there.
# gpuc_test_oclgrind(NAME PROGRAM [ARGS ...] [TIMEOUT seconds] [SLOW])
#   One more run under oclgrind, which simulates an OpenCL device and checks every access; a message fails the test.
# gpuc_test_missing(NAME REASON)
#   In the place of a test whose tool this system lacks: it says so, and is skipped.
# gpuc_fuzz(NAME SOURCES ... FOLDERS ... [LIBS ...] [INCLUDES ...])
#   A libFuzzer program, in builds with GPUC_FUZZ.
# Tests have the label quick, or slow: those are left out where every run costs a multiple (sanitizers).
# A test that prints "skipped: REASON" and exits with 77 is skipped: no such device here.
# Under the sanitizers, every test waits for those of tests/planted, which show that a mistake is reported. What runs
# on Vulkan (its name says so) waits for the planted hazard of tests/runtime_vulkan.
# What all code is compiled with; and, for all but the tools, which are customers, the headers of src/.
add_library(gpuc_public_flags INTERFACE)
target_compile_options(gpuc_public_flags INTERFACE -Wall -Wextra -Wswitch-enum
  $<$<BOOL:${GPUC_WERROR}>:-Werror>)
# The same sources give the same bytes wherever they lie: messages and debug information have names below the tree. Debuggers
# find those when they are started there.
target_compile_options(gpuc_public_flags INTERFACE
  "$<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=;-ffile-prefix-map=${PROJECT_BINARY_DIR}=build>"
  -ffunction-sections -fdata-sections # a program, or a library, links what it uses
  $<$<CONFIG:MinSizeRel>:-fno-asynchronous-unwind-tables>)
target_include_directories(gpuc_public_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/config)
# Large files and folders, where pointers have 32 bits too.
target_compile_definitions(gpuc_public_flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64 GPUC_VERSION="${PROJECT_VERSION}")
add_library(gpuc_flags INTERFACE)
target_link_libraries(gpuc_flags INTERFACE gpuc_public_flags)
target_include_directories(gpuc_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(GPUC_SANITIZE)
  target_compile_options(gpuc_public_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  target_link_options(gpuc_public_flags INTERFACE -fsanitize=address,undefined)
  if(CMAKE_C_COMPILER_ID MATCHES Clang)
    # Leaks of drivers are known by who called operator new, which this has the sanitizer see.
    target_link_options(gpuc_public_flags INTERFACE -fsanitize-link-c++-runtime)
    target_link_libraries(gpuc_public_flags INTERFACE stdc++)
  endif()
  target_compile_definitions(gpuc_public_flags INTERFACE GPUC_SANITIZED)
endif()

if(GPUC_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES Clang OR NOT GPUC_SANITIZE)
    message(FATAL_ERROR "GPUC_FUZZ needs clang (-DCMAKE_C_COMPILER=clang) and -DGPUC_SANITIZE=ON")
  endif()
  # Every folder tells the fuzzer which of its branches an input takes.
  target_compile_options(gpuc_public_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(gpuc_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;SMALL;LIBS;INCLUDES" ${ARGN})
  # Optimized builds make these small: they read files and set things up, and the library that applications ship holds them.
  # Tables for unwinding the stack would be a seventh of it.
  set_source_files_properties(${ARG_SMALL} PROPERTIES
    COMPILE_OPTIONS "$<$<CONFIG:Release,RelWithDebInfo>:-Os;-fno-asynchronous-unwind-tables>")
  list(APPEND ARG_SOURCES ${ARG_SMALL})
  add_library(gpuc_${name}_obj OBJECT ${ARG_SOURCES})
  target_link_libraries(gpuc_${name}_obj PUBLIC gpuc_flags ${ARG_LIBS})
  target_include_directories(gpuc_${name}_obj PRIVATE ${ARG_INCLUDES})
endfunction()

# What every program that loads drivers tells the sanitizers.
add_library(cli_sanitize OBJECT ${PROJECT_SOURCE_DIR}/tools/gpuc/sanitize.c)
target_link_libraries(cli_sanitize PRIVATE gpuc_public_flags)

function(gpuc_test_missing name reason)
  add_test(NAME ${name} COMMAND sh -c "echo 'skipped: ${reason}'; exit 77")
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS quick)
endfunction()

function(gpuc_test_run name program)
  cmake_parse_arguments(ARG "SLOW;STRICT" "TIMEOUT" "ARGS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(ARG_SLOW)
    set(label slow)
  else()
    set(label quick)
  endif()
  add_test(NAME ${name} COMMAND ${program} ${ARG_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${ARG_TIMEOUT} LABELS ${label})
  if(GPUC_SANITIZE)
    set_property(TEST ${name} APPEND PROPERTY FIXTURES_REQUIRED sanitizers)
  endif()
  # LLVM's optimisation is 40% of the time of a test of many kernels. Tests of targets that are made for these drivers
  # (opencl/pocl, vulkan/llvmpipe) have it. Sanitized tests do as those of the release, whose kernels the drivers keep.
  if(ARG_STRICT OR "${ARG_ARGS}" MATCHES "^(opencl|vulkan)(;|$)")
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "GALLIVM_PERF=nopt;POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable")
  endif()
  if(name MATCHES "vulkan|llvmpipe")
    set_property(TEST ${name} APPEND PROPERTY FIXTURES_REQUIRED validation)
  endif()
  if(ARG_STRICT)
    gpuc_test_strict(${name})
  endif()
endfunction()

# What was parsed of TIMEOUT and SLOW, as arguments again.
macro(gpuc_run_options var)
  set(${var})
  if(ARG_TIMEOUT)
    list(APPEND ${var} TIMEOUT ${ARG_TIMEOUT})
  endif()
  if(ARG_SLOW)
    list(APPEND ${var} SLOW)
  endif()
endmacro()

function(gpuc_test_strict name)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "GPUC_VULKAN_LOADER=$<TARGET_FILE:strict_device>")
  set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "strict device refuses")
endfunction()

# Unoptimised, since oclgrind lacks some of LLVM's intrinsics. What is tested must report a planted access outside of a
# buffer first (tests/cts).
find_program(GPUC_OCLGRIND oclgrind)
function(gpuc_test_oclgrind name program)
  if(NOT GPUC_OPENCL OR GPUC_SANITIZE)
    return()
  endif()
  if(NOT GPUC_OCLGRIND)
    gpuc_test_missing(${name} "oclgrind is not installed")
    return()
  endif()
  cmake_parse_arguments(ARG "SLOW" "TIMEOUT" "ARGS" ${ARGN})
  gpuc_run_options(rest)
  gpuc_test_run(${name} ${GPUC_OCLGRIND} ARGS --data-races --check-api --build-options "-O0 -cl-opt-disable"
    $<TARGET_FILE:${program}> ${ARG_ARGS} ${rest})
  set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED oclgrind
    FAIL_REGULAR_EXPRESSION "Invalid (read|write)|data race|OCLGRIND FATAL|Work-group divergence")
endfunction()

# There are hundreds of tests, each with most of the compiler in it: a quick linker takes a fifth of the time.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=mold GPUC_HAS_MOLD)
function(gpuc_test name)
  cmake_parse_arguments(ARG "SLOW" "TIMEOUT" "SOURCES;FOLDERS;LIBS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} $<TARGET_OBJECTS:cli_sanitize>)
  foreach(folder ${ARG_FOLDERS})
    target_link_libraries(${name} PRIVATE gpuc_${folder}_obj)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:gpuc_${folder}_obj>)
  endforeach()
  target_link_libraries(${name} PRIVATE gpuc_flags ${ARG_LIBS} cmocka m dl pthread)
  if(GPUC_HAS_MOLD)
    target_link_options(${name} PRIVATE -fuse-ld=mold)
  endif()
  gpuc_run_options(rest)
  gpuc_test_run(${name} ${name} ARGS ${ARG_ARGS} ${rest})
endfunction()

function(gpuc_fuzz name)
  if(NOT GPUC_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;FOLDERS;LIBS;INCLUDES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  foreach(folder ${ARG_FOLDERS})
    target_link_libraries(${name} PRIVATE gpuc_${folder}_obj)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:gpuc_${folder}_obj>)
  endforeach()
  target_include_directories(${name} PRIVATE ${ARG_INCLUDES})
  target_link_libraries(${name} PRIVATE gpuc_flags ${ARG_LIBS} m dl pthread)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
