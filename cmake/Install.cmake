# What `cmake --install` puts where. A build without the compiler installs the runtime alone.
include(CMakePackageConfigHelpers)

set(headers base.h device.h devices.h dlpack.h driver.h files.h kernel.h package.h plugin.h runtime.h scope.h tensor_files.h)
if(GPUC_VULKAN)
  list(APPEND headers vulkan.h)
endif()
if(GPUC_OPENCL)
  list(APPEND headers opencl.h)
endif()
set(libraries gpuc_runtime_static gpuc_runtime_shared)
set(pkgconfig gpuc-runtime gpuc-runtime-static)
set_target_properties(gpuc_runtime_static PROPERTIES EXPORT_NAME runtime_static)
set_target_properties(gpuc_runtime_shared PROPERTIES EXPORT_NAME runtime)
if(GPUC_COMPILER)
  list(APPEND headers attrs.h build.h codegen.h ctx.h dtypes.h ir.h knobs.h lower.h onnx.h op.h relay.h relay_ir.h relay_pass.h schedule.h target.h te.h tir.h topi.h tune.h)
  list(APPEND libraries gpuc_static gpuc_shared)
  list(APPEND pkgconfig gpuc gpuc-static)
  set_target_properties(gpuc_shared PROPERTIES EXPORT_NAME gpuc)
endif()

# The runtime as two files, for programs that build it themselves.
find_program(GPUC_PYTHON3 python3)
set(amalgamated)
if(GPUC_PYTHON3)
  list(TRANSFORM GPUC_RUNTIME_FOLDERS PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE folders)
  list(TRANSFORM folders APPEND "/*" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns} ${PROJECT_SOURCE_DIR}/include/gpuc/*.h)
  set(amalgamated ${PROJECT_BINARY_DIR}/amalgamation/gpuc_runtime.c ${PROJECT_BINARY_DIR}/amalgamation/gpuc_runtime.h)
  add_custom_command(OUTPUT ${amalgamated}
    COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER}
      ${GPUC_PYTHON3} ${PROJECT_SOURCE_DIR}/scripts/amalgamate ${PROJECT_BINARY_DIR}/amalgamation
    DEPENDS scripts/amalgamate CMakeLists.txt src/CMakeLists.txt cmake/Install.cmake ${sources} COMMENT "gpuc_runtime.c, gpuc_runtime.h")
else()
  message(STATUS "gpuc_runtime.c is not made: python3 was not found")
endif()
add_custom_target(amalgamation ALL DEPENDS ${amalgamated})

# All that is installed and has to be built. An install before that stops at once, and leaves nothing behind.
add_custom_target(installable DEPENDS gpuc amalgamation ${libraries})
set(built ${amalgamated})
foreach(target gpuc ${libraries})
  list(APPEND built $<TARGET_FILE:${target}>)
endforeach()
install(CODE "
foreach(file ${built})
  if(NOT EXISTS \"\${file}\")
    message(FATAL_ERROR \"\${file} is not built; first: cmake --build ${PROJECT_BINARY_DIR} --target installable\")
  endif()
endforeach()")

list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/include/gpuc/)
install(FILES ${headers} ${PROJECT_BINARY_DIR}/config/gpuc/config.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gpuc)
install(FILES ${amalgamated} DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuc/amalgamation)
install(TARGETS gpuc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${libraries} EXPORT gpuc
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES LICENSE THIRD_PARTY.md README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(GPUC_COMPILER)
  install(DIRECTORY tuning/ DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuc/tuning PATTERN make.sh EXCLUDE)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gpuc)
install(EXPORT gpuc NAMESPACE gpuc:: FILE gpuc-targets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/gpuc-config.cmake.in ${PROJECT_BINARY_DIR}/gpuc-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gpuc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gpuc-config.cmake ${PROJECT_BINARY_DIR}/gpuc-config-version.cmake
  DESTINATION ${package_dir})

# The .pc files find their tree from where they lie, so that it may be moved.
set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(PC_PREFIX ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up /root/${pc_dir} /root)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(PC_PREFIX "\${pcfiledir}/${up}")
endif()
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE PC_LIBDIR)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_DATADIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE PC_DATADIR)
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE PC_INCLUDEDIR)
set(PC_SPIRV_TOOLS)
if(GPUC_HAVE_SPIRV_TOOLS)
  set(PC_SPIRV_TOOLS "-lSPIRV-Tools -lstdc++ ")
endif()
foreach(name ${pkgconfig})
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_dir})
endforeach()
