# SPDX-License-Identifier: Apache-2.0
#
# The Debian packages that `cpack` makes of a build: the components of install.cmake in three groups,
# lib, dev and tools. packaging/deb/finish.cmake does what debhelper would do.

# A library's package has the name and the version of its soname.
set(CPACK_DEBIAN_LIB_PACKAGE_NAME libgpuexec${soversion})
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libgpuexec-dev)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME gpuexec)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/deb/finish.cmake)
set(CPACK_PACKAGE_CONTACT "gpuexec maintainers <maintainers@gpuexec.invalid>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE gpuexec)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Libraries are in Depends by what the binaries need, and those that are opened at run time are not.
# The program needs one that is in no package yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
# finish.cmake refuses to pack a library that has lost WebGPU by chance.
set(CPACK_GPUEXEC_WEBGPU "by chance")
set(webgpu "Vulkan, CUDA and WebGPU")
if(wgpu_include_dir AND GPUEXEC_BUNDLE_WGPU AND wgpu_library)
  set(CPACK_GPUEXEC_WEBGPU bundled)
elseif(wgpu_include_dir AND GPUEXEC_WEBGPU STREQUAL "ON")
  set(CPACK_GPUEXEC_WEBGPU "with the wgpu-native of the system")
elseif(NOT GPUEXEC_WEBGPU)
  set(CPACK_GPUEXEC_WEBGPU "left out")
  set(webgpu "Vulkan and CUDA")
endif()
set(CPACK_DEBIAN_LIB_PACKAGE_RECOMMENDS "libvulkan1")
set(CPACK_DEBIAN_LIB_PACKAGE_SUGGESTS "libcuda1, mesa-vulkan-drivers")
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/deb/triggers)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "${CPACK_DEBIAN_LIB_PACKAGE_NAME} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "${CPACK_DEBIAN_LIB_PACKAGE_NAME} (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION math)

# The first line of each description is its package's summary; CPack would put one before all.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(about "gpuexec runs batches of finite-field and vector arithmetic,
number-theoretic transforms and multi-scalar multiplications on the CPU or on
GPUs, whichever is fastest for a job on this machine. It uses
${webgpu} where their drivers are installed, and needs none of them.
")
set(CPACK_DEBIAN_LIB_DESCRIPTION "finite-field arithmetic on CPU or GPU - shared library
${about}
This package has the shared library.")
set(CPACK_DEBIAN_DEV_DESCRIPTION "finite-field arithmetic on CPU or GPU - development files
${about}
This package has the headers, the static library, files for pkg-config and
CMake, and the manual of the API.")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "finite-field arithmetic on CPU or GPU - program
${about}
This package has the program, which lists, verifies and measures devices and
runs jobs on files, and the documentation and examples.")

include(CPack)
cpack_add_component(runtime GROUP lib)
cpack_add_component(development GROUP dev)
cpack_add_component(static GROUP dev)
cpack_add_component(program GROUP tools)
cpack_add_component(documentation GROUP tools)
