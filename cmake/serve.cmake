# SPDX-License-Identifier: Apache-2.0
#
# What gpuexec serve needs beside the other commands: its page, inside the program, and
# libmicrohttpd. Where that is missing the command says how to get it.

find_path(microhttpd_INCLUDE_DIR microhttpd.h)
find_library(microhttpd_LIBRARY microhttpd)
mark_as_advanced(microhttpd_INCLUDE_DIR microhttpd_LIBRARY)
if(microhttpd_INCLUDE_DIR AND microhttpd_LIBRARY)
  target_sources(gpuexec-cli PRIVATE cli/http_server.c)
  target_include_directories(gpuexec-cli SYSTEM PRIVATE ${microhttpd_INCLUDE_DIR})
  target_link_libraries(gpuexec-cli PRIVATE ${microhttpd_LIBRARY})
else()
  message(STATUS "libmicrohttpd is missing: gpuexec serve will not work")
  target_sources(gpuexec-cli PRIVATE cli/http_server_none.c)
endif()

add_custom_command(
  OUTPUT "${PROJECT_BINARY_DIR}/live_page.c"
  COMMAND "${CMAKE_COMMAND}" -DNAME=live_page -DHEADER=live_page.h
          "-DSOURCE=${PROJECT_SOURCE_DIR}/cli/live.html" "-DOUTPUT=${PROJECT_BINARY_DIR}/live_page.c"
          -P "${PROJECT_SOURCE_DIR}/cmake/embed.cmake"
  DEPENDS cli/live.html cmake/embed.cmake
  COMMENT "Embedding the live page"
  VERBATIM)
target_sources(gpuexec-cli PRIVATE "${PROJECT_BINARY_DIR}/live_page.c")
target_include_directories(gpuexec-cli PRIVATE cli)
