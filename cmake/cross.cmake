# What the toolchain files share: GPUC_TRIPLE's compiler, libraries from Debian's folder of cross-compiled ones, and an
# emulator for what the build wants to run. Headers that are the same on every machine (Vulkan, OpenCL, DLPack, xxHash) are
# this system's, in a folder of links, since the others of /usr/include are for this processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${GPUC_TRIPLE}-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/${GPUC_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR ${GPUC_EMULATOR} -L /usr/${GPUC_TRIPLE})
set(GPUC_HEADERS ${CMAKE_BINARY_DIR}/headers)
foreach(header vulkan vk_video CL spirv dlpack xxhash.h)
  if(EXISTS /usr/include/${header} AND NOT EXISTS ${GPUC_HEADERS}/${header})
    file(MAKE_DIRECTORY ${GPUC_HEADERS})
    file(CREATE_LINK /usr/include/${header} ${GPUC_HEADERS}/${header} SYMBOLIC)
  endif()
endforeach()
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES ${GPUC_HEADERS})
