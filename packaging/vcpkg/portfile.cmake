# SPDX-License-Identifier: Apache-2.0
#
# The library, built from the source release that this port is in: vcpkg install gpuexec
# --overlay-ports=RELEASE/packaging/vcpkg. Nothing is downloaded here.

cmake_path(GET CURRENT_PORT_DIR PARENT_PATH packaging)
cmake_path(GET packaging PARENT_PATH release)
message(STATUS "WebGPU: left out of this package; CMake builds it with -DGPUEXEC_WEBGPU=ON")
vcpkg_cmake_configure(
  SOURCE_PATH "${release}"
  OPTIONS -DGPUEXEC_CLI=OFF -DGPUEXEC_TESTS=OFF -DGPUEXEC_WEBGPU=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/gpuexec)
vcpkg_fixup_pkgconfig()
# Headers and documents are of one kind only, and vcpkg wants them once.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${release}/LICENSE")
# What vcpkg would guess names both targets at once.
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
