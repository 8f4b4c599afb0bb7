# SPDX-License-Identifier: Apache-2.0
#
# One kernel module, while building: glslc -> spirv-opt -> spirv-val. Every build folder
# compiles the same text, for minutes, so the result is kept in CACHE under the hash of
# all that it depends on: the preprocessed source, the flags, and TOOLS (what the tools
# say their versions are).
#
#   cmake -DGLSLC= -DSPIRV_OPT= -DSPIRV_VAL= -DENV= -DTOOLS= -DCACHE= -DSOURCE= -DOUTPUT= -DPASSES=
#         -P shader.cmake -- FLAG...
#
# PASSES are what spirv-opt does.

set(flags)
set(found OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(found)
    list(APPEND flags "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(found ON)
  endif()
endforeach()

function(gx_step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "${SOURCE} ${flags}: ${ARGV0} failed")
  endif()
endfunction()

set(compile "${GLSLC}" --target-env=${ENV} -std=450 -fshader-stage=compute -Werror ${flags} "${SOURCE}")
set(stored)
if(CACHE)
  gx_step(${compile} -E -o "${OUTPUT}.i")
  file(READ "${OUTPUT}.i" text)
  string(REGEX REPLACE "#line[^\n]*" "" text "${text}") # it names the build folder
  set(defines ${flags})
  list(FILTER defines EXCLUDE REGEX "^-I")
  string(SHA256 key "${TOOLS} ${ENV} ${PASSES} ${defines}\n${text}")
  set(stored "${CACHE}/${key}.spv")
  if(EXISTS "${stored}")
    # It may have been damaged since: checking again costs nothing.
    execute_process(COMMAND "${SPIRV_VAL}" --target-env ${ENV} "${stored}" RESULT_VARIABLE result
                    OUTPUT_QUIET ERROR_QUIET)
    if(NOT result)
      file(COPY_FILE "${stored}" "${OUTPUT}")
      return()
    endif()
  endif()
endif()

gx_step(${compile} -o "${OUTPUT}.raw")
gx_step("${SPIRV_OPT}" --target-env=${ENV} ${PASSES} "${OUTPUT}.raw" -o "${OUTPUT}.opt")
gx_step("${SPIRV_VAL}" --target-env ${ENV} "${OUTPUT}.opt")
if(stored)
  # Renamed into place, because another build may read it at the same moment.
  string(RANDOM LENGTH 12 suffix)
  file(MAKE_DIRECTORY "${CACHE}")
  file(COPY_FILE "${OUTPUT}.opt" "${stored}.${suffix}")
  file(RENAME "${stored}.${suffix}" "${stored}")
endif()
file(RENAME "${OUTPUT}.opt" "${OUTPUT}")
