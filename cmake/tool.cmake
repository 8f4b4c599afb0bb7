# SPDX-License-Identifier: Apache-2.0
#
# Programs that run during the build.
#
#   gx_add_tool(NAME SOURCE...)    sets NAME_program in the caller: for COMMAND and DEPENDS
#
# In a cross build they are compiled by the build machine's own compiler: they only write text, which
# is the same everywhere.
function(gx_add_tool name)
  cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH root)
  if(CMAKE_CROSSCOMPILING)
    find_program(GPUEXEC_HOST_CC NAMES cc gcc clang REQUIRED DOC "Compiler for programs that run during the build")
    set(program "${CMAKE_CURRENT_BINARY_DIR}/tools/${name}")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tools")
    list(TRANSFORM ARGN PREPEND "${root}/" OUTPUT_VARIABLE sources)
    add_custom_command(
      OUTPUT "${program}"
      COMMAND "${GPUEXEC_HOST_CC}" -std=gnu11 -O1 "-I${root}/include" "-I${root}/src" ${sources} -o "${program}" -lpthread
      DEPENDS ${sources}
      COMMENT "Build tool ${name}"
      VERBATIM)
    set(${name}_program "${program}" PARENT_SCOPE)
    return()
  endif()
  list(TRANSFORM ARGN PREPEND "${root}/" OUTPUT_VARIABLE sources)
  find_package(Threads REQUIRED)
  add_executable(${name} EXCLUDE_FROM_ALL ${sources})
  target_include_directories(${name} PRIVATE "${root}/include" "${root}/src")
  target_link_libraries(${name} PRIVATE Threads::Threads)
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
  set(${name}_program ${name} PARENT_SCOPE)
endfunction()
