# SPDX-License-Identifier: Apache-2.0
#
# wgpu-native, for the WebGPU device: the headers to build with, and the library, which is opened
# at run time. Nothing is downloaded here: both are looked for in GPUEXEC_WGPU_DIR, where
# scripts/setup.sh puts them, and then on the system. Its interface changes between versions, so
# the device is built for the version in wgpu-wheel.txt and loads no other.
#
#   gx_find_wgpu()    sets in the caller: wgpu_include_dir, empty where the device is left out, and
#                     wgpu_library, empty where only the headers are here

set(GPUEXEC_WEBGPU AUTO CACHE STRING "The WebGPU device: ON, OFF, or AUTO: where the headers of wgpu-native are")
set_property(CACHE GPUEXEC_WEBGPU PROPERTY STRINGS AUTO ON OFF)
set(GPUEXEC_WGPU_DIR "" CACHE PATH
    "Where wgpu-native is, with or without -MACHINE after the name; empty: where the system has it")

set(wheel_list "${PROJECT_SOURCE_DIR}/cmake/wgpu-wheel.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${wheel_list}")
file(STRINGS "${wheel_list}" wheel_lines REGEX "^(wheel|native) ")
string(REGEX REPLACE ".*wheel ([0-9.]+).*" "\\1" GX_WGPU_WHEEL_VERSION "${wheel_lines}")
string(REGEX REPLACE ".*native ([0-9.]+).*" "\\1" GX_WGPU_NATIVE_VERSION "${wheel_lines}")
string(REGEX REPLACE "([0-9]+)\\.([0-9]+)\\.([0-9]+)\\.([0-9]+)" "\\1 << 24 | \\2 << 16 | \\3 << 8 | \\4"
       GX_WGPU_NATIVE_NUMBER "${GX_WGPU_NATIVE_VERSION}")
math(EXPR GX_WGPU_NATIVE_NUMBER "${GX_WGPU_NATIVE_NUMBER}" OUTPUT_FORMAT HEXADECIMAL)

# Whether the headers are of the right version. They do not say; but the stamp of fetch-wgpu.sh does,
# and the device's own header, which names every function and type that is used, has to compile.
function(gx_fits_wgpu include_dir fits)
  set(${fits} OFF PARENT_SCOPE)
  if(EXISTS "${include_dir}/stamp")
    file(READ "${include_dir}/stamp" stamp)
    if(NOT stamp MATCHES "^${GX_WGPU_WHEEL_VERSION} ")
      return()
    endif()
  endif()
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  try_compile(compiles SOURCE_FROM_CONTENT wgpu.c "#include \"device/webgpu/webgpu.h\"\n"
              CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${PROJECT_SOURCE_DIR}/src;${PROJECT_SOURCE_DIR}/include;${include_dir}"
              COMPILE_DEFINITIONS -D_GNU_SOURCE NO_CACHE)
  set(${fits} ${compiles} PARENT_SCOPE)
endfunction()

function(gx_find_wgpu)
  set(wgpu_include_dir "" PARENT_SCOPE)
  set(wgpu_library "" PARENT_SCOPE)
  if(NOT GPUEXEC_WEBGPU)
    message(STATUS "WebGPU: left out, GPUEXEC_WEBGPU is ${GPUEXEC_WEBGPU}")
    return()
  endif()

  # Where it was found before counts no more if it is gone, or if another folder is named now.
  if((wgpu_INCLUDE_DIR AND NOT EXISTS "${wgpu_INCLUDE_DIR}/wgpu.h")
     OR (DEFINED GX_WGPU_DIR_BEFORE AND NOT GX_WGPU_DIR_BEFORE STREQUAL "${GPUEXEC_WGPU_DIR}"))
    unset(wgpu_INCLUDE_DIR CACHE)
    unset(wgpu_LIBRARY CACHE)
  endif()
  set(GX_WGPU_DIR_BEFORE "${GPUEXEC_WGPU_DIR}" CACHE INTERNAL "")
  set(hints)
  if(GPUEXEC_WGPU_DIR)
    set(hints "${GPUEXEC_WGPU_DIR}-${CMAKE_SYSTEM_PROCESSOR}" "${GPUEXEC_WGPU_DIR}")
  endif()
  # Not under the root of a cross build; and the library itself, which is opened at run time.
  find_path(wgpu_INCLUDE_DIR wgpu.h HINTS ${hints} PATH_SUFFIXES include/webgpu include webgpu
            NO_CMAKE_FIND_ROOT_PATH)
  set(CMAKE_FIND_LIBRARY_PREFIXES ${CMAKE_SHARED_LIBRARY_PREFIX} "")
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${CMAKE_SHARED_LIBRARY_SUFFIX})
  find_library(wgpu_LIBRARY wgpu_native HINTS ${hints} PATH_SUFFIXES lib NO_CMAKE_FIND_ROOT_PATH)
  mark_as_advanced(wgpu_INCLUDE_DIR wgpu_LIBRARY)

  set(why)
  if(NOT wgpu_INCLUDE_DIR)
    set(why "wgpu.h of wgpu-native ${GX_WGPU_NATIVE_VERSION} is not here")
  else()
    gx_fits_wgpu("${wgpu_INCLUDE_DIR}" fits)
    if(NOT fits)
      set(why "${wgpu_INCLUDE_DIR}/wgpu.h is not that of wgpu-native ${GX_WGPU_NATIVE_VERSION}")
    endif()
  endif()
  if(NOT why)
    message(STATUS "WebGPU: ${wgpu_INCLUDE_DIR}")
    set(wgpu_include_dir "${wgpu_INCLUDE_DIR}" PARENT_SCOPE)
    if(wgpu_LIBRARY)
      set(wgpu_library "${wgpu_LIBRARY}" PARENT_SCOPE)
    endif()
    return()
  endif()
  string(APPEND why ": run scripts/setup.sh run, which downloads it, or set GPUEXEC_WGPU_DIR to its folder")
  if(GPUEXEC_WEBGPU STREQUAL "AUTO")
    message(STATUS "WebGPU: left out, ${why}")
  else()
    message(FATAL_ERROR "GPUEXEC_WEBGPU is ${GPUEXEC_WEBGPU}, but ${why}, or GPUEXEC_WEBGPU to OFF")
  endif()
endfunction()
