# SPDX-License-Identifier: Apache-2.0
#
# wgpu-native, for the WebGPU device: headers to build with, and the library, which is opened
# at run time. Both come from the wheel of the Python package wgpu, at the version named here
# and nowhere else. Its interface changes between versions, so that the device asks for the
# library of this one.
#
#   gx_fetch_wgpu(FOLDER)    FOLDER of the caller: where they are, or empty where the device
#                            is left out

# The version of the wheel, and the one that wgpuGetVersion gives.
set(GX_WGPU_WHEEL_VERSION 0.32.0)
set(GX_WGPU_NATIVE_VERSION 0x1d000101)

# The platform's wheel, and its SHA-256.
set(GX_WGPU_WHEEL_x86_64 manylinux_2_28_x86_64
    6499a31b5a29a10b4f1089fea4a0806411f42605fa86b6c0b543a07ca0de8568)
set(GX_WGPU_WHEEL_aarch64 manylinux_2_28_aarch64
    00454ba1bc794d38c8365f4ad29f381b88ce0a7f115133bfaa6f1dfad7eb2764)

set(GPUEXEC_WEBGPU AUTO CACHE STRING "The WebGPU device: ON, OFF, or AUTO: where wgpu-native can be fetched")
set_property(CACHE GPUEXEC_WEBGPU PROPERTY STRINGS AUTO ON OFF)
set(GPUEXEC_WGPU_DIR "${PROJECT_BINARY_DIR}/wgpu" CACHE PATH "Folder that wgpu-native is fetched into")

function(gx_fetch_wgpu folder)
  set(${folder} "" PARENT_SCOPE)
  if(NOT GPUEXEC_WEBGPU)
    message(STATUS "WebGPU: left out, GPUEXEC_WEBGPU is ${GPUEXEC_WEBGPU}")
    return()
  endif()
  set(wheel "${GX_WGPU_WHEEL_${CMAKE_SYSTEM_PROCESSOR}}")
  set(why "there is no wheel for ${CMAKE_SYSTEM_PROCESSOR}")
  if(wheel)
    set(place "${GPUEXEC_WGPU_DIR}-${CMAKE_SYSTEM_PROCESSOR}")
    list(GET wheel 0 platform)
    list(GET wheel 1 sum)
    execute_process(
      COMMAND "${PROJECT_SOURCE_DIR}/scripts/fetch-wgpu.sh" "${place}" ${GX_WGPU_WHEEL_VERSION}
              ${platform} ${sum}
      RESULT_VARIABLE result ERROR_VARIABLE why)
    if(result EQUAL 0)
      set(${folder} "${place}" PARENT_SCOPE)
      return()
    endif()
  endif()
  string(STRIP "${why}" why)
  if(GPUEXEC_WEBGPU STREQUAL "AUTO")
    message(STATUS "WebGPU: left out, wgpu-native cannot be had: ${why}")
  else()
    message(FATAL_ERROR "wgpu-native cannot be had, and GPUEXEC_WEBGPU is ${GPUEXEC_WEBGPU}: ${why}")
  endif()
endfunction()
