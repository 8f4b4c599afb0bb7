# SPDX-License-Identifier: Apache-2.0
#
# cmake -DROOT=... -DBUILD=... -DPACKAGES=... -P vcpkg.cmake: runs the port in ROOT/packaging/vcpkg with
# substitutes for vcpkg's functions, which do what the real ones are documented to do, for one static
# library. BUILD may have been built before, PACKAGES is where vcpkg would take the package from.

# The substitutes accept only the arguments that they know.
macro(parse values lists)
  cmake_parse_arguments(arg "" "${values}" "${lists}" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "not known here: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()
function(has)
  foreach(path IN LISTS ARGN)
    if(NOT EXISTS "${path}")
      message(FATAL_ERROR "${path} is missing")
    endif()
  endforeach()
endfunction()
function(vcpkg_cmake_configure)
  parse("SOURCE_PATH" "OPTIONS" ${ARGN})
  execute_process(COMMAND ${CMAKE_COMMAND} -S "${arg_SOURCE_PATH}" -B "${BUILD}" -DBUILD_SHARED_LIBS=OFF
    -DCMAKE_INSTALL_PREFIX=${PACKAGES} -DCMAKE_INSTALL_LIBDIR:STRING=lib ${arg_OPTIONS} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_install)
  parse("" "" ${ARGN})
  execute_process(COMMAND ${CMAKE_COMMAND} --build "${BUILD}" --target install COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_config_fixup)
  parse("CONFIG_PATH" "" ${ARGN})
  has("${PACKAGES}/${arg_CONFIG_PATH}")
  file(MAKE_DIRECTORY "${PACKAGES}/share")
  file(RENAME "${PACKAGES}/${arg_CONFIG_PATH}" "${PACKAGES}/share/${PORT}")
  file(REMOVE_RECURSE "${PACKAGES}/lib/cmake") # the real one removes it if it is empty
endfunction()
function(vcpkg_fixup_pkgconfig)
  parse("" "" ${ARGN})
  has("${PACKAGES}/lib/pkgconfig/${PORT}.pc")
endfunction()
function(vcpkg_install_copyright)
  parse("" "FILE_LIST" ${ARGN})
  has(${arg_FILE_LIST})
  file(COPY_FILE ${arg_FILE_LIST} "${PACKAGES}/share/${PORT}/copyright")
endfunction()

file(STRINGS "${ROOT}/include/gpuexec/core.h" version REGEX "^#define GX_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
string(REGEX REPLACE "[^0-9;]" "" version "${version}")
list(JOIN version "." version)
file(READ "${ROOT}/packaging/vcpkg/vcpkg.json" manifest)
string(JSON PORT GET "${manifest}" name)
string(JSON manifest_version GET "${manifest}" version)
if(NOT manifest_version STREQUAL version)
  message(FATAL_ERROR "vcpkg.json is of ${manifest_version}, not ${version}")
endif()

set(CURRENT_PORT_DIR "${ROOT}/packaging/vcpkg")
set(CURRENT_PACKAGES_DIR "${PACKAGES}")
include("${CURRENT_PORT_DIR}/portfile.cmake")

# What vcpkg checks after the build: every file is where it may be, and what each package has is there.
has("${PACKAGES}/share/${PORT}/${PORT}Config.cmake" "${PACKAGES}/share/${PORT}/copyright"
    "${PACKAGES}/share/${PORT}/usage")
file(GLOB_RECURSE files RELATIVE "${PACKAGES}" "${PACKAGES}/*")
list(FILTER files EXCLUDE REGEX
     "^(include/gpuexec\\.h|include/gpuexec/[a-z]+\\.h|lib/libgpuexec\\.a|lib/pkgconfig/gpuexec[a-z-]*\\.pc|share/gpuexec/[^/]*)$")
if(files)
  message(FATAL_ERROR "out of place: ${files}")
endif()
has("${PACKAGES}/include/gpuexec.h" "${PACKAGES}/lib/libgpuexec.a")
