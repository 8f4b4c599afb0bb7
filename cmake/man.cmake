# SPDX-License-Identifier: Apache-2.0
#
# The manual pages, generated from the program's tables and the public headers, in man_dir. Not with
# sanitizers, under which the program would need a special environment.

set(GX_MAN_DATE "November 15, 2026")
set_source_files_properties(cli/help.c PROPERTIES COMPILE_DEFINITIONS "GX_MAN_DATE=\"${GX_MAN_DATE}\"")

if(NOT GPUEXEC_SANITIZE AND NOT WIN32)
  file(GLOB headers CONFIGURE_DEPENDS include/*.h include/gpuexec/*.h man/examples/*.c)
  set(man_dir "${PROJECT_BINARY_DIR}/man")
  add_custom_command(
    OUTPUT "${man_dir}/man1/gpuexec.1"
    COMMAND "${PROJECT_SOURCE_DIR}/man/make.sh" "${PROJECT_SOURCE_DIR}" "${man_dir}" "${GX_MAN_DATE}"
            ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:gpuexec-cli>
    DEPENDS gpuexec-cli man/make.sh man/headers.awk man/mdoc.awk ${headers} examples/mul.c
    COMMENT "Manual pages"
    VERBATIM)
  add_custom_target(gx-man ALL DEPENDS "${man_dir}/man1/gpuexec.1")
endif()
