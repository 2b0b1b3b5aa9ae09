# The runtime for AArch64: cmake --toolchain cmake/aarch64-linux-gnu.cmake -DGPUC_COMPILER=OFF -DGPUC_TESTS=OFF ...
set(GPUC_TRIPLE aarch64-linux-gnu)
set(GPUC_EMULATOR qemu-aarch64)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
