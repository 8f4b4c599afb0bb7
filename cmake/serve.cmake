# SPDX-License-Identifier: Apache-2.0
#
# libmicrohttpd, for gpuexec serve. If it is missing, the command says how to get it.

find_path(microhttpd_INCLUDE_DIR microhttpd.h)
find_library(microhttpd_LIBRARY microhttpd)
mark_as_advanced(microhttpd_INCLUDE_DIR microhttpd_LIBRARY)
if(microhttpd_INCLUDE_DIR AND microhttpd_LIBRARY)
  target_sources(gpuexec-cli PRIVATE http/check.c http/guard.c http/server.c)
  target_include_directories(gpuexec-cli SYSTEM PRIVATE ${microhttpd_INCLUDE_DIR})
  target_link_libraries(gpuexec-cli PRIVATE ${microhttpd_LIBRARY})
else()
  message(STATUS "libmicrohttpd is missing: gpuexec serve will not work")
  target_sources(gpuexec-cli PRIVATE http/server_none.c)
endif()
