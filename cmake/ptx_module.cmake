# SPDX-License-Identifier: Apache-2.0
#
# One kernel module as PTX, while building. The result is kept in CACHE under the hash of all that
# it depends on, as in shader.cmake.
#
#   cmake -DCLANG= -DTOOLS= -DCACHE= -DSOURCE= -DOUTPUT= -P ptx_module.cmake -- FLAG...

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

set(stored)
if(CACHE)
  gx_step("${CLANG}" ${flags} -E -P "${SOURCE}" -o "${OUTPUT}.i")
  file(SHA256 "${OUTPUT}.i" text)
  set(defines ${flags})
  list(FILTER defines EXCLUDE REGEX "^-I")
  string(SHA256 key "${TOOLS} ${defines}\n${text}")
  set(stored "${CACHE}/${key}.ptx")
  # Its last line is an addition, by which it can be seen to be complete.
  if(EXISTS "${stored}")
    file(STRINGS "${stored}" end REGEX "^// ${key}$")
    if(end)
      file(COPY_FILE "${stored}" "${OUTPUT}")
      return()
    endif()
  endif()
endif()

gx_step("${CLANG}" ${flags} -S "${SOURCE}" -o "${OUTPUT}.new")
if(stored)
  # Renamed into place, because another build may read it at the same moment.
  file(APPEND "${OUTPUT}.new" "// ${key}\n")
  string(RANDOM LENGTH 12 suffix)
  file(MAKE_DIRECTORY "${CACHE}")
  file(COPY_FILE "${OUTPUT}.new" "${stored}.${suffix}")
  file(RENAME "${stored}.${suffix}" "${stored}")
endif()
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
