# SPDX-License-Identifier: Apache-2.0
#
# CPack runs this between installing into the folders of the packages, one per group, and packing
# them: what Debian's policy wants that `cmake --install` does not do.

if(CPACK_GPUEXEC_WEBGPU STREQUAL "by chance")
  message(FATAL_ERROR "this library would have no WebGPU device, or not find wgpu-native. Configure with "
          "-DGPUEXEC_WGPU_DIR=FOLDER -DGPUEXEC_BUNDLE_WGPU=ON to pack it (scripts/fetch-wgpu.sh FOLDER MACHINE "
          "downloads it), with -DGPUEXEC_WEBGPU=ON if the system has it, or with -DGPUEXEC_WEBGPU=OFF to leave "
          "it out")
endif()

# Without it CPack would leave Depends empty.
find_program(shlibdeps dpkg-shlibdeps REQUIRED)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH if that is set
set(made "${CPACK_TOPLEVEL_DIRECTORY}/changelog.Debian")
file(WRITE "${made}" "gpuexec (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Packaged by CPack. The changes are in /usr/share/doc/gpuexec/changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")

foreach(group lib dev tools)
  string(TOUPPER ${group} upper)
  set(usr "${CPACK_TEMPORARY_DIRECTORY}/${group}/usr")
  file(COPY "${CMAKE_CURRENT_LIST_DIR}/copyright" "${made}"
       DESTINATION "${usr}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}"
       FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endforeach()

# The file copyright says the same, and the system has the text.
file(REMOVE "${usr}/share/doc/gpuexec/LICENSE")
file(RENAME "${usr}/share/doc/gpuexec/CHANGELOG.md" "${usr}/share/doc/gpuexec/changelog")
# Debian's zsh does not look into /usr/share/zsh/site-functions.
file(RENAME "${usr}/share/zsh/site-functions" "${usr}/share/zsh/vendor-completions")
# The library is where the system looks.
file(RPATH_REMOVE FILE "${usr}/bin/gpuexec")

# CPack strips only what the build made.
file(GLOB_RECURSE bundled "${CPACK_TEMPORARY_DIRECTORY}/lib/usr/libwgpu_native.so")
if(bundled)
  execute_process(COMMAND strip --strip-unneeded ${bundled} COMMAND_ERROR_IS_FATAL ANY)
endif()

file(GLOB_RECURSE paths "${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/*"
     "${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*/changelog*")
foreach(path IN LISTS paths)
  if(IS_SYMLINK "${path}")
    file(READ_SYMLINK "${path}" target)
    file(CREATE_LINK "${target}.gz" "${path}.gz" SYMBOLIC)
    file(REMOVE "${path}")
  else()
    execute_process(COMMAND gzip -9n "${path}" COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()

# Whatever the umask is.
execute_process(COMMAND find "${CPACK_TEMPORARY_DIRECTORY}" -type d -exec chmod 755 {} +
                COMMAND_ERROR_IS_FATAL ANY)
