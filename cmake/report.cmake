# SPDX-License-Identifier: Apache-2.0
#
# The library behind scan, compare and report (report/), with the page inside: its template,
# style and script, and Chart.js as the distribution has it, put into one C file while building.
# Without Chart.js the page has its tables only, and says so.

find_file(GPUEXEC_CHART_JS NAMES chart.min.js Chart.min.js
          PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
          NO_CMAKE_FIND_ROOT_PATH DOC "Chart.js 3, for the charts of gpuexec report; OFF: tables only")
set(chart_js)
if(GPUEXEC_CHART_JS)
  file(READ "${GPUEXEC_CHART_JS}" chart_head LIMIT 200)
  if(chart_head MATCHES "Chart\\.js v3\\.")
    set(chart_js "${GPUEXEC_CHART_JS}")
  else()
    message(WARNING "${GPUEXEC_CHART_JS} is not version 3 of Chart.js, which the page is written for: "
            "gpuexec report will have tables and no charts")
  endif()
else()
  message(STATUS "Chart.js (libjs-chart.js) is missing: gpuexec report will have tables and no charts")
endif()

add_executable(gx_embed_page report/embed.c)
set(page_parts page.html page.css page.js live.html)
list(TRANSFORM page_parts REPLACE "(.+)" "\\1=${PROJECT_SOURCE_DIR}/report/\\1" OUTPUT_VARIABLE page_arguments)
list(TRANSFORM page_parts PREPEND "${PROJECT_SOURCE_DIR}/report/" OUTPUT_VARIABLE page_files)
if(chart_js)
  list(APPEND page_arguments "chart.js=${chart_js}")
  list(APPEND page_files "${chart_js}")
endif()
add_custom_command(
  OUTPUT "${PROJECT_BINARY_DIR}/page_parts.c"
  COMMAND gx_embed_page ${page_arguments} > "${PROJECT_BINARY_DIR}/page_parts.c"
  DEPENDS gx_embed_page ${page_files}
  COMMENT "Embedding the page"
  VERBATIM)

add_library(gx-report STATIC
  report/cross.c
  report/csv.c
  report/json.c
  report/merge.c
  report/page.c
  report/scan.c
  report/scan_read.c
  report/scan_seeds.c
  report/text.c
  "${PROJECT_BINARY_DIR}/page_parts.c")
target_include_directories(gx-report PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(gx-report PUBLIC gx-flags gx-jansson m)
