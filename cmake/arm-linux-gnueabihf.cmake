# The runtime for 32-bit ARM with a floating-point unit: as aarch64-linux-gnu.cmake. Atomic variables of 64 bits are
# instructions from ARMv7 on, which is what Debian's compiler has.
set(GPUC_TRIPLE arm-linux-gnueabihf)
set(GPUC_EMULATOR qemu-arm)
set(CMAKE_SYSTEM_PROCESSOR arm)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
