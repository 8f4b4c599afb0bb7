# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` installs, in components: runtime (the shared library), development (headers,
# API manual, CMake and pkg-config packages), static (the static library and its packages), program,
# documentation. Each library has its own export set, so that a distribution may put them in
# different packages.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gpuexec)
set(private_dir ${CMAKE_INSTALL_LIBDIR}/gpuexec)

install(DIRECTORY include/ TYPE INCLUDE COMPONENT development)
if(shared)
  install(TARGETS gpuexec EXPORT gpuexec-shared
          RUNTIME COMPONENT runtime # gpuexec.dll
          ARCHIVE COMPONENT development # its import library
          LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
  install(EXPORT gpuexec-shared NAMESPACE gpuexec:: DESTINATION ${package_dir} COMPONENT development)
endif()
if(static)
  install(TARGETS gpuexec-static EXPORT gpuexec-static ARCHIVE COMPONENT static)
  install(EXPORT gpuexec-static NAMESPACE gpuexec:: DESTINATION ${package_dir} COMPONENT static)
endif()
configure_package_config_file(cmake/gpuexecConfig.cmake.in gpuexecConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(gpuexecConfigVersion.cmake COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/gpuexecConfig.cmake ${PROJECT_BINARY_DIR}/gpuexecConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)

# pkg-config. Paths are relative to the .pc file, so that the whole tree can be moved. `pkg-config
# --static gpuexec` is for programs linked with -static. To link the static library although the
# shared one is installed, use the package gpuexec-static, which names the file.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
list(TRANSFORM private_libraries PREPEND "-l" OUTPUT_VARIABLE private_flags)
list(JOIN private_flags " " private_flags)
function(gx_install_pc pc_name component pc_libs pc_private)
  configure_file(cmake/gpuexec.pc.in ${pc_name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT ${component})
endfunction()
if(shared)
  gx_install_pc(gpuexec development "-L\${libdir} -lgpuexec" "${private_flags}")
else()
  gx_install_pc(gpuexec development "-L\${libdir} -lgpuexec ${private_flags}" "")
endif()
if(static)
  gx_install_pc(gpuexec-static static "\${libdir}/libgpuexec.a ${private_flags}" "")
endif()

# wgpu-native is a third-party binary: it is installed only on request, and then where other
# programs do not find it. Its licence is either this project's or MIT.
set(library_rpath)
if(GPUEXEC_BUNDLE_WGPU AND wgpu_library AND WIN32) # where gpuexec.dll looks first
  install(FILES "${wgpu_library}" DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
elseif(GPUEXEC_BUNDLE_WGPU AND wgpu_library)
  file(REAL_PATH "${wgpu_library}" wgpu_file)
  install(FILES "${wgpu_file}" RENAME libwgpu_native.so DESTINATION ${private_dir} COMPONENT runtime)
  set(library_rpath gpuexec)
elseif(GPUEXEC_BUNDLE_WGPU AND GPUEXEC_WEBGPU)
  message(STATUS "WebGPU: no libwgpu_native.so to install")
endif()
if(shared AND library_rpath)
  set_target_properties(gpuexec PROPERTIES INSTALL_RPATH "\$ORIGIN/${library_rpath}")
endif()

if(GPUEXEC_CLI)
  # The program finds the library relative to itself; CMAKE_SKIP_INSTALL_RPATH disables that.
  file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  if(shared)
    set_target_properties(gpuexec-cli PROPERTIES INSTALL_RPATH "\$ORIGIN/${bin_to_lib}")
  elseif(library_rpath)
    set_target_properties(gpuexec-cli PROPERTIES INSTALL_RPATH "\$ORIGIN/${bin_to_lib}/${library_rpath}")
  endif()
  install(TARGETS gpuexec-cli RUNTIME COMPONENT program)
  install(FILES completions/gpuexec.bash RENAME gpuexec
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
  install(FILES completions/_gpuexec DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          COMPONENT program)
  install(FILES completions/gpuexec.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT program)
  if(man_dir)
    install(DIRECTORY "${man_dir}/man1" DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
    install(DIRECTORY "${man_dir}/man3" DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development)
  endif()
endif()

# The manual pages and the headers refer to these.
install(FILES LICENSE CHANGELOG.md TYPE DOC COMPONENT documentation)
install(DIRECTORY doc/ TYPE DOC COMPONENT documentation
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
install(DIRECTORY monitoring examples TYPE DOC COMPONENT documentation)
