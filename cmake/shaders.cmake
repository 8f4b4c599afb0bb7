# SPDX-License-Identifier: Apache-2.0
#
# Compiles the kernels of src/kernel: the constants of a field (a program of ours, from
# field.c) -> glslc -> spirv-opt -> spirv-val (shader.cmake) -> one C file with the table
# gx__shaders. A message of any of them stops the build. Needs glslc (shaderc) and
# spirv-tools. A source release (scripts/dist.sh) has the compiled kernels in its folder spirv,
# and needs neither.
#
#   gx_add_shaders(TARGET)    adds that C file to TARGET
#
# Without GPUEXEC_VULKAN the table is empty, and no tool is needed.
# The fields come from GX__FIELD_LIST in field.h: a new one needs no change here.

option(GPUEXEC_VULKAN "Compile the kernels of the Vulkan device; OFF: there is no such device" ON)

include("${CMAKE_CURRENT_LIST_DIR}/tool.cmake")
set(GX_SPIRV_ENV vulkan1.2)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH GX_SOURCE_DIR)
set(GX_KERNEL_DIR "${GX_SOURCE_DIR}/src/kernel")
set(GX_COMPILED_DIR "${GX_SOURCE_DIR}/spirv")
set(GX_COMPILED OFF)
if(EXISTS "${GX_COMPILED_DIR}/sources.sha256")
  set(GX_COMPILED ON)
elseif(GPUEXEC_VULKAN)
  find_program(GX_GLSLC glslc REQUIRED)
  find_program(GX_SPIRV_OPT spirv-opt REQUIRED)
  find_program(GX_SPIRV_VAL spirv-val REQUIRED)
endif()
set(GX_SHADER_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/shader.cmake")

# Elements per invocation in words.comp.
set(GX_WORDS_EACH 4)

# Names of the fields, and of the prime ones among them, and the symbol of each.
function(gx_read_fields names primes)
  set(header "${GX_SOURCE_DIR}/src/field/field.h")
  file(READ "${header}" text)
  string(REGEX MATCH "#define GX__FIELD_LIST\\(X\\)([^#]*)" list "${text}")
  string(REGEX MATCHALL "X\\(GX_[A-Z0-9_]+, *[0-9]+, *\"[^\"]+\"\\)" rows "${list}")
  if(NOT rows)
    message(FATAL_ERROR "no GX__FIELD_LIST in ${header}")
  endif()
  foreach(row IN LISTS rows)
    string(REGEX REPLACE ".*\\((GX_[A-Z0-9_]+),.*" "\\1" symbol "${row}")
    string(REGEX REPLACE ".*\"([^\"]+)\".*" "\\1" name "${row}")
    set(GX_SYMBOL_${name} ${symbol} PARENT_SCOPE)
    list(APPEND all ${name})
    if(NOT name MATCHES "^[uf][0-9]+$")
      list(APPEND prime ${name})
    endif()
  endforeach()
  set(${names} ${all} PARENT_SCOPE)
  set(${primes} ${prime} PARENT_SCOPE)
endfunction()

# Another version of a tool generates other code from the same source.
function(gx_tool_versions versions)
  foreach(tool "${GX_GLSLC}" "${GX_SPIRV_OPT}" "${GX_SPIRV_VAL}")
    execute_process(COMMAND "${tool}" --version OUTPUT_VARIABLE version
                    ERROR_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
    string(APPEND all "${version}")
  endforeach()
  string(SHA256 hash "${all}")
  set(${versions} ${hash} PARENT_SCOPE)
endfunction()

# A hash of what the kernels are compiled from. It is in a source release too, so that kernels
# changed there are not silently ignored.
function(gx_check_sources)
  set(files ${GX_KERNEL_SOURCES} "${GX_KERNEL_DIR}/constants.c" "${GX_KERNEL_DIR}/radix.c"
      "${GX_SOURCE_DIR}/src/field/field.c" "${GX_SOURCE_DIR}/src/field/field.h"
      "${GX_SOURCE_DIR}/src/op/op.h" "${GX_SHADER_SCRIPT}" "${GX_SOURCE_DIR}/cmake/shaders.cmake")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  foreach(file IN LISTS files)
    file(SHA256 "${file}" hash)
    string(APPEND hashes "${hash}\n")
  endforeach()
  string(SHA256 hash "${hashes}")
  file(CONFIGURE OUTPUT "${GX_SHADER_DIR}/sources.sha256" CONTENT "${hash}\n")
  if(GX_COMPILED)
    file(STRINGS "${GX_COMPILED_DIR}/sources.sha256" compiled)
    if(NOT compiled STREQUAL hash)
      message(FATAL_ERROR "the kernels in ${GX_COMPILED_DIR} were compiled from other sources: remove that "
              "folder to compile them here, with glslc and spirv-tools")
    endif()
    message(STATUS "Kernels: compiled ones, ${GX_COMPILED_DIR}")
  endif()
endfunction()

# One module: a line in GX_MODULE_LIST and a file in GX_MODULE_FILES of the caller. FIELD
# is a name, or NONE; EACH the elements per invocation.
macro(gx_module family field needs each variant source)
  string(TOLOWER "${family}-${field}-${variant}.spv" module)
  set(spirv "${GX_SHADER_DIR}/${module}")
  set(symbol 0)
  set(include)
  if(NOT "${field}" STREQUAL "NONE")
    set(symbol ${GX_SYMBOL_${field}})
    set(include "${GX_SHADER_DIR}/${field}/constants.glsl")
  endif()
  if(GX_COMPILED)
    set(spirv "${GX_COMPILED_DIR}/${module}")
  else()
    add_custom_command(
      OUTPUT "${spirv}"
      COMMAND "${CMAKE_COMMAND}" "-DGLSLC=${GX_GLSLC}" "-DSPIRV_OPT=${GX_SPIRV_OPT}"
              "-DSPIRV_VAL=${GX_SPIRV_VAL}" "-DENV=${GX_SPIRV_ENV}" "-DCACHE=${GPUEXEC_SHADER_CACHE}"
              "-DTOOLS=${GX_SHADER_TOOLS}" "-DSOURCE=${GX_KERNEL_DIR}/${source}" "-DOUTPUT=${spirv}"
              "-DPASSES=${GX_SPIRV_PASSES}"
              -P "${GX_SHADER_SCRIPT}" -- "-I${GX_KERNEL_DIR}" "-I${GX_SHADER_DIR}/${field}"
              -DEACH=${each} ${ARGN}
      DEPENDS ${include} ${GX_KERNEL_SOURCES} "${GX_SHADER_SCRIPT}"
      COMMENT "Kernel ${module}"
      VERBATIM)
  endif()
  list(APPEND GX_MODULE_FILES "${spirv}")
  string(APPEND GX_MODULE_LIST
         "GX_SHADER_${family} ${symbol} ${needs} ${each} ${variant} ${spirv}\n")
endmacro()

macro(gx_prime_modules field)
  set(int64 GX_SHADER_NEEDS_INT64)
  gx_module(LINEAR ${field} 0 1 plain linear.comp -DSHUFFLED=0)
  gx_module(LINEAR ${field} GX_SHADER_NEEDS_SHUFFLE 1 shuffled linear.comp -DSHUFFLED=1)
  gx_module(MUL ${field} ${int64} 1 int64 mul.comp -DINT64=1)
  gx_module(MUL ${field} ${int64} 2 int64-x2 mul.comp -DINT64=1)
  gx_module(MUL ${field} 0 1 int32 mul.comp -DINT64=0)
  gx_module(SUM ${field} 0 4 plain sum.comp)
  gx_module(DOT ${field} ${int64} 1 int64 dot.comp -DINT64=1)
  gx_module(DOT ${field} 0 1 int32 dot.comp -DINT64=0)
  gx_module(SCAN ${field} ${int64} 1 int64 scan.comp -DINT64=1)
  gx_module(SCAN ${field} 0 1 int32 scan.comp -DINT64=0)
  gx_module(PERMUTE ${field} 0 1 plain permute.comp)
  foreach(stage up top down)
    string(TOUPPER ${stage} upper)
    gx_module(INVERT_${upper} ${field} ${int64} 1 int64 invert_${stage}.comp -DINT64=1)
    gx_module(INVERT_${upper} ${field} 0 1 int32 invert_${stage}.comp -DINT64=0)
  endforeach()
endmacro()

# Fields with transforms, which have elements of 32 bytes. These modules have many products:
# optimizing one would take a minute, for code that is no faster.
macro(gx_ntt_modules field)
  set(GX_SPIRV_PASSES --strip-debug)
  gx_module(NTT ${field} ${int64} 4 int64-x4 ntt.comp -DINT64=1)
  gx_module(NTT ${field} 0 4 int32-x4 ntt.comp -DINT64=0)
  gx_module(NTT_TABLE ${field} ${int64} 1 int64 ntt_table.comp -DINT64=1)
  gx_module(NTT_TABLE ${field} 0 1 int32 ntt_table.comp -DINT64=0)
  set(GX_SPIRV_PASSES -O --strip-debug)
endmacro()

# Fields with curves over them. With STEPS a module has one product, and any driver compiles it in
# a second or two. Without, MSM_ADD of G1, which does most of the work, takes NVIDIA's 4 s and
# software Vulkan 20 s; those of G2 would take minutes.
macro(gx_msm_modules field)
  set(GX_SPIRV_PASSES --strip-debug)
  gx_module(MSM_SORT ${field} 0 1 plain msm_sort.comp -DINT64=0)
  gx_module(MSM_ADD ${field} ${int64} 1 int64 msm_add.comp -DINT64=1 -DDEGREE=1 -DSTEPS=0)
  gx_module(MSM_ADD ${field} 0 1 int32 msm_add.comp -DINT64=0 -DDEGREE=1 -DSTEPS=1)
  gx_module(MSM_SUM ${field} ${int64} 1 int64 msm_sum.comp -DINT64=1 -DDEGREE=1 -DSTEPS=1)
  gx_module(MSM_SUM ${field} 0 1 int32 msm_sum.comp -DINT64=0 -DDEGREE=1 -DSTEPS=1)
  foreach(kind add sum)
    string(TOUPPER ${kind} upper)
    gx_module(MSM_${upper}_2 ${field} ${int64} 1 int64 msm_${kind}.comp -DINT64=1 -DDEGREE=2 -DSTEPS=1)
    gx_module(MSM_${upper}_2 ${field} 0 1 int32 msm_${kind}.comp -DINT64=0 -DDEGREE=2 -DSTEPS=1)
  endforeach()
  set(GX_SPIRV_PASSES -O --strip-debug)
endmacro()

macro(gx_all_modules)
  foreach(field ${ARGN})
    gx_prime_modules(${field})
    if(field MATCHES "-fr$")
      gx_ntt_modules(${field})
    else()
      gx_msm_modules(${field})
    endif()
  endforeach()
  gx_module(WORDS u32 0 ${GX_WORDS_EACH} plain words.comp -DKIND=0)
  gx_module(WORDS f32 GX_SHADER_NEEDS_DENORM32 ${GX_WORDS_EACH} native words.comp -DKIND=1)
  gx_module(WORDS f32 0 ${GX_WORDS_EACH} soft words.comp -DKIND=2)
  gx_module(COPY NONE 0 1 plain copy.comp)
  gx_module(ROOF NONE GX_SHADER_NEEDS_INT64 1 plain roof.comp)
endmacro()

function(gx_add_shaders target)
  set(GX_SHADER_DIR "${CMAKE_CURRENT_BINARY_DIR}/shaders")
  file(GLOB GX_KERNEL_SOURCES CONFIGURE_DEPENDS "${GX_KERNEL_DIR}/*.glsl" "${GX_KERNEL_DIR}/*.comp"
       "${GX_KERNEL_DIR}/interface.h")
  set(GX_SPIRV_PASSES -O --strip-debug)
  gx_read_fields(names primes)
  gx_check_sources()
  if(GPUEXEC_VULKAN AND NOT GX_COMPILED)
    gx_tool_versions(GX_SHADER_TOOLS)
  endif()

  gx_add_tool(gx_constants src/kernel/constants.c src/kernel/radix.c src/field/field.c)
  set(gx_constants_program "${gx_constants_program}" PARENT_SCOPE)
  gx_add_tool(gx_embed src/kernel/embed.c)

  foreach(field IN LISTS names)
    file(MAKE_DIRECTORY "${GX_SHADER_DIR}/${field}")
    add_custom_command(
      OUTPUT "${GX_SHADER_DIR}/${field}/constants.glsl"
      COMMAND ${gx_constants_program} ${field} > "${GX_SHADER_DIR}/${field}/constants.glsl"
      DEPENDS ${gx_constants_program}
      VERBATIM)
  endforeach()

  if(GPUEXEC_VULKAN)
    gx_all_modules(${primes})
  endif()
  file(GENERATE OUTPUT "${GX_SHADER_DIR}/modules.txt" CONTENT "${GX_MODULE_LIST}")
  add_custom_command(
    OUTPUT "${GX_SHADER_DIR}/shaders.c"
    COMMAND ${gx_embed_program} < "${GX_SHADER_DIR}/modules.txt" > "${GX_SHADER_DIR}/shaders.c"
    DEPENDS ${gx_embed_program} "${GX_SHADER_DIR}/modules.txt" ${GX_MODULE_FILES}
    COMMENT "Embedding the kernels"
    VERBATIM)
  target_sources(${target} PRIVATE "${GX_SHADER_DIR}/shaders.c")
endfunction()
