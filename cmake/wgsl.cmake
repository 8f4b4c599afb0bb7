# SPDX-License-Identifier: Apache-2.0
#
# Embeds the templates of src/kernel/wgsl in one C file, the table gx__wgsl_files.
#
#   gx_add_wgsl(TARGET)    adds that C file to TARGET

function(gx_add_wgsl target)
  set(table "${PROJECT_BINARY_DIR}/wgsl.c")
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/kernel/wgsl/*.wgsl")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(rows "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(................................................................................)"
           "\\1\n" bytes "${bytes}")
    string(APPEND rows "    {\"${name}\", (const char[]){\n${bytes}0}},\n")
  endforeach()
  file(CONFIGURE OUTPUT "${table}" @ONLY CONTENT
"/* Made by cmake/wgsl.cmake. */
#include \"kernel/wgsl.h\"

const struct gx_wgsl_file gx__wgsl_files[] = {
@rows@    {NULL, NULL},
};
")
  target_sources(${target} PRIVATE "${table}")
endfunction()
