# SPDX-License-Identifier: Apache-2.0
#
# Cross build for 64-bit ARM with the distribution's compiler; programs run under qemu-user, with
# the loader and libraries of the arm64 packages. No -L: the cross compiler's own copy of the loader
# must not be mixed with another version of libc.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Only this architecture's directories: /usr/lib/x86_64-linux-gnu contains the same names.
set(CMAKE_SYSTEM_LIBRARY_PATH /usr/lib/aarch64-linux-gnu)
set(CMAKE_SYSTEM_INCLUDE_PATH /usr/include/aarch64-linux-gnu)
set(CMAKE_IGNORE_PATH /usr/lib /usr/lib/x86_64-linux-gnu /usr/local/lib)
