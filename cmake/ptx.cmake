# SPDX-License-Identifier: Apache-2.0
#
# Compiles the kernels of src/kernel once more, as CUDA for NVIDIA's driver: clang -> PTX
# (ptx_module.cmake) -> one C file with the table gx__ptx. Nothing of NVIDIA's is needed. A source
# release (scripts/dist.sh) has the compiled kernels in its folder ptx. Without clang, or without its
# NVPTX target, the table is empty.
#
#   gx_add_ptx(TARGET)    adds that C file to TARGET, after gx_add_shaders; sets GX_PTX_MODULES in the
#                         caller, empty where there are none

set(GPUEXEC_CUDA AUTO CACHE STRING "Kernels for the CUDA device: ON, OFF, or AUTO: where clang can compile them")
set_property(CACHE GPUEXEC_CUDA PROPERTY STRINGS AUTO ON OFF)

set(GX_PTX_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/ptx_module.cmake")
set(GX_PTX_COMPILED_DIR "${GX_SOURCE_DIR}/ptx")
# The oldest GPU and version of PTX: any driver since CUDA 11 loads it, for any GPU since Volta.
set(GX_PTX_FLAGS -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -Xclang -target-feature -Xclang +ptx60
    -nocudainc -nocudalib -std=c++17 -O3 -ffp-contract=off -fwrapv
    -Wall -Werror -Wno-parentheses -Wno-shift-op-parentheses -Wno-bitwise-op-parentheses
    -Wno-unused-function -Wno-unused-const-variable -Wno-unknown-cuda-version)
# Invocations of a workgroup. All passes of an operation have the same.
set(GX_PTX_WORKGROUP 128)

# clang, if it can compile such a module; otherwise `why` says why not.
function(gx_find_clang clang why)
  set(${clang} "" PARENT_SCOPE)
  find_program(GX_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
  mark_as_advanced(GX_CLANG)
  if(NOT GX_CLANG)
    set(${why} "clang is not here" PARENT_SCOPE)
    return()
  endif()
  set(probe "${CMAKE_CURRENT_BINARY_DIR}/ptx/probe.cu")
  file(CONFIGURE OUTPUT "${probe}" CONTENT "extern \"C\" __attribute__((global)) void probe(int *x) { *x = 1; }\n")
  execute_process(COMMAND "${GX_CLANG}" ${GX_PTX_FLAGS} -S "${probe}" -o "${probe}.ptx"
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
  if(result)
    set(${why} "${GX_CLANG} has no NVPTX target" PARENT_SCOPE)
    return()
  endif()
  file(STRINGS "${probe}.ptx" named REGEX "probe_param_0") # prelude.cuh relies on such names
  if(NOT named)
    set(${why} "${GX_CLANG} gives parameters other names than clang 14" PARENT_SCOPE)
    return()
  endif()
  set(${clang} "${GX_CLANG}" PARENT_SCOPE)
endfunction()

# A hash of what the kernels are compiled from, as for those of Vulkan.
function(gx_check_ptx_sources)
  set(files ${GX_PTX_SOURCES} "${GX_KERNEL_DIR}/constants.c" "${GX_KERNEL_DIR}/radix.c"
      "${GX_SOURCE_DIR}/src/field/field.c" "${GX_SOURCE_DIR}/src/field/field.h"
      "${GX_SOURCE_DIR}/src/op/op.h" "${GX_PTX_SCRIPT}" "${GX_SOURCE_DIR}/cmake/ptx.cmake")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  foreach(file IN LISTS files)
    file(SHA256 "${file}" hash)
    string(APPEND hashes "${hash}\n")
  endforeach()
  string(SHA256 hash "${hashes}")
  file(CONFIGURE OUTPUT "${GX_PTX_DIR}/sources.sha256" CONTENT "${hash}\n")
  if(GX_PTX_COMPILED)
    file(STRINGS "${GX_PTX_COMPILED_DIR}/sources.sha256" compiled)
    if(NOT compiled STREQUAL hash)
      message(FATAL_ERROR "the kernels in ${GX_PTX_COMPILED_DIR} were compiled from other sources: remove that "
              "folder to compile them here, with clang")
    endif()
  endif()
endfunction()

# One module: a line in GX_PTX_LIST and a file in GX_PTX_FILES of the caller. MIN_GROUPS keeps the
# registers of an invocation down so that as many workgroups run at once: the most that is possible
# without spilling (tests/ptx/assemble.py).
macro(gx_ptx_module family field each variant source)
  string(TOLOWER "${family}-${field}-${variant}.ptx" module)
  set(ptx "${GX_PTX_DIR}/${module}")
  set(symbol 0)
  set(include)
  if(NOT "${field}" STREQUAL "NONE")
    set(symbol ${GX_SYMBOL_${field}})
    set(include "${GX_PTX_DIR}/${field}/constants.glsl")
  endif()
  if(GX_PTX_COMPILED)
    set(ptx "${GX_PTX_COMPILED_DIR}/${module}")
  else()
    add_custom_command(
      OUTPUT "${ptx}"
      COMMAND "${CMAKE_COMMAND}" "-DCLANG=${clang}" "-DCACHE=${GPUEXEC_SHADER_CACHE}"
              "-DTOOLS=${GX_PTX_TOOLS}" "-DSOURCE=${GX_KERNEL_DIR}/${source}" "-DOUTPUT=${ptx}"
              -P "${GX_PTX_SCRIPT}" -- ${GX_PTX_FLAGS} "-I${GX_KERNEL_DIR}" "-I${GX_PTX_DIR}/${field}"
              -DEACH=${each} -DGROUP_SIZE=${GX_PTX_WORKGROUP}u ${ARGN}
      DEPENDS ${include} ${GX_PTX_SOURCES} "${GX_PTX_SCRIPT}"
      COMMENT "Kernel ${module}"
      VERBATIM)
  endif()
  list(APPEND GX_PTX_FILES "${ptx}")
  string(APPEND GX_PTX_LIST
         "GX_SHADER_${family} ${symbol} ${each} ${GX_PTX_WORKGROUP} ${variant} ${ptx}\n")
endmacro()

# Passes of inversions load ahead, with a few registers more; or no flag.
set(GX_PTX_INVERT -DPREFETCH=1)

macro(gx_ptx_prime_modules field)
  # Sums move rows (shuffled.glsl), which costs products more than it gains: bench/NOTEBOOK.md.
  gx_ptx_module(LINEAR ${field} 1 plain linear.comp -DSHUFFLED=1 -DSTAGED=1)
  if("${field}" MATCHES "381-fq$") # a product takes as long as its loads
    gx_ptx_module(MUL ${field} 2 carry-x2 mul.comp)
  else()
    gx_ptx_module(MUL ${field} 1 carry mul.comp)
  endif()
  gx_ptx_module(SUM ${field} 4 plain sum.comp)
  gx_ptx_module(DOT ${field} 1 carry dot.comp)
  gx_ptx_module(SCAN ${field} 1 carry scan.comp)
  gx_ptx_module(PERMUTE ${field} 1 plain permute.comp)
  gx_ptx_module(INVERT_UP ${field} 1 carry invert_up.comp ${GX_PTX_INVERT})
  gx_ptx_module(INVERT_TOP ${field} 1 carry invert_top.comp)
  gx_ptx_module(INVERT_DOWN ${field} 1 carry invert_down.comp ${GX_PTX_INVERT})
endmacro()

# Fields with curves over them. MSM_ADD of G1, which does most of the work, contains its products. The
# others call one product and one square (called.cuh), for the sake of the time that the driver takes
# to compile them; -DSTEPS=1 is the list of steps that Vulkan has.
set(GX_PTX_CALLED -DSTEPS=0 -DCALLED_PRODUCTS=1)

macro(gx_ptx_msm_modules field)
  gx_ptx_module(MSM_SORT ${field} 1 plain msm_sort.comp)
  set(min_groups 4)
  if(field MATCHES "381")
    set(min_groups 3)
  endif()
  gx_ptx_module(MSM_ADD ${field} 1 carry msm_add.comp -DDEGREE=1 -DSTEPS=0 -DMIN_GROUPS=${min_groups})
  gx_ptx_module(MSM_SUM ${field} 1 carry msm_sum.comp -DDEGREE=1 ${GX_PTX_CALLED})
  gx_ptx_module(MSM_ADD_2 ${field} 1 carry msm_add.comp -DDEGREE=2 ${GX_PTX_CALLED})
  gx_ptx_module(MSM_SUM_2 ${field} 1 carry msm_sum.comp -DDEGREE=2 ${GX_PTX_CALLED})
endmacro()

function(gx_add_ptx target)
  set(GX_PTX_DIR "${CMAKE_CURRENT_BINARY_DIR}/ptx")
  set(GX_PTX_LIST)
  set(GX_PTX_FILES)
  set(GX_PTX_COMPILED OFF)
  set(clang)
  set(why)
  file(GLOB GX_PTX_SOURCES CONFIGURE_DEPENDS "${GX_KERNEL_DIR}/*.glsl" "${GX_KERNEL_DIR}/*.comp"
       "${GX_KERNEL_DIR}/*.cuh" "${GX_KERNEL_DIR}/interface.h")
  if(NOT GPUEXEC_CUDA)
    set(why "GPUEXEC_CUDA is ${GPUEXEC_CUDA}")
  elseif(EXISTS "${GX_PTX_COMPILED_DIR}/sources.sha256")
    set(GX_PTX_COMPILED ON)
    message(STATUS "CUDA kernels: compiled ones, ${GX_PTX_COMPILED_DIR}")
  else()
    gx_find_clang(clang why)
    if(clang)
      message(STATUS "CUDA kernels: ${clang}")
      execute_process(COMMAND "${clang}" --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
      string(SHA256 GX_PTX_TOOLS "${version}")
    endif()
  endif()
  if(why)
    if(GPUEXEC_CUDA AND NOT GPUEXEC_CUDA STREQUAL "AUTO")
      message(FATAL_ERROR "GPUEXEC_CUDA is ${GPUEXEC_CUDA}, but ${why}: run scripts/setup.sh run, or set "
              "GPUEXEC_CUDA to OFF")
    endif()
    message(STATUS "CUDA kernels: left out, ${why}")
  endif()

  gx_read_fields(names primes)
  if(GX_PTX_COMPILED OR clang)
    gx_check_ptx_sources()
    foreach(field IN LISTS names)
      file(MAKE_DIRECTORY "${GX_PTX_DIR}/${field}")
      add_custom_command(
        OUTPUT "${GX_PTX_DIR}/${field}/constants.glsl"
        COMMAND ${gx_constants_program} ${field} cuda > "${GX_PTX_DIR}/${field}/constants.glsl"
        DEPENDS ${gx_constants_program}
        VERBATIM)
    endforeach()
    foreach(field IN LISTS primes)
      gx_ptx_prime_modules(${field})
      if(field MATCHES "-fr$")
        gx_ptx_module(NTT ${field} 4 carry-x4 ntt.comp -DMIN_GROUPS=5)
        gx_ptx_module(NTT_SMALL ${field} 2 carry-x2 ntt.comp)
        gx_ptx_module(NTT_TABLE ${field} 1 carry ntt_table.comp)
      else()
        gx_ptx_msm_modules(${field})
      endif()
    endforeach()
    gx_ptx_module(WORDS u32 ${GX_WORDS_EACH} plain words.comp -DKIND=0)
    gx_ptx_module(WORDS f32 ${GX_WORDS_EACH} native words.comp -DKIND=1)
    gx_ptx_module(COPY NONE 1 plain copy.comp)
  endif()

  gx_add_tool(gx_embed_ptx src/kernel/embed_ptx.c)
  file(GENERATE OUTPUT "${GX_PTX_DIR}/modules.txt" CONTENT "${GX_PTX_LIST}")
  add_custom_command(
    OUTPUT "${GX_PTX_DIR}/ptx.c"
    COMMAND ${gx_embed_ptx_program} < "${GX_PTX_DIR}/modules.txt" > "${GX_PTX_DIR}/ptx.c"
    DEPENDS ${gx_embed_ptx_program} "${GX_PTX_DIR}/modules.txt" ${GX_PTX_FILES}
    COMMENT "Embedding the CUDA kernels"
    VERBATIM)
  target_sources(${target} PRIVATE "${GX_PTX_DIR}/ptx.c")
  set(GX_PTX_MODULES "${GX_PTX_FILES}" PARENT_SCOPE)
endfunction()
