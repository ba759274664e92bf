# What `cmake --install` and `cpack` put where: programs, the library of clusters and models, pages,
# the manual page and what shells complete by. A program finds its library beside itself, so that
# the installed tree may be moved. The pages that are topics of the help: sim/cli/help.
include(GNUInstallDirs)

# The system finds its own libraries; not those of `./dev deps`.
if(CMAKE_PREFIX_PATH AND NOT PIPEWRIGHT_STATIC)
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

function(install_pipewright)
  set(doc ${CMAKE_INSTALL_DATADIR}/doc/pipewright)
  install(TARGETS pipewright RUNTIME COMPONENT pipewright)
  if(TARGET pipewright-mpi)
    install(TARGETS pipewright-mpi RUNTIME COMPONENT mpi)
  endif()
  install(DIRECTORY platforms/ DESTINATION ${CMAKE_INSTALL_DATADIR}/pipewright/platforms
    COMPONENT pipewright FILES_MATCHING PATTERN *.csv PATTERN *.xml PATTERN *.yaml)
  # Links between pages lead on, since they stand to each other as in the source tree.
  install(DIRECTORY platforms DESTINATION ${doc} COMPONENT pipewright
    FILES_MATCHING PATTERN *.png)
  install(DIRECTORY docs/notebooks DESTINATION ${doc}/docs COMPONENT pipewright)
  install(DIRECTORY examples DESTINATION ${doc} COMPONENT pipewright
    PATTERN __pycache__ EXCLUDE)
  install(FILES README.md CHANGELOG.md CONTRIBUTING.md LICENSE DESTINATION ${doc}
    COMPONENT pipewright)
  if(EXISTS /etc/debian_version)
    set(copyright ${CMAKE_BINARY_DIR}/share/copyright)
    file(WRITE ${copyright} "Copyright: the authors of pipewright\nLicense: Apache-2.0\n\n"
      "On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\n")
    install(FILES ${copyright} DESTINATION ${doc} COMPONENT pipewright)
    install(FILES ${copyright} DESTINATION ${doc}-mpi COMPONENT mpi)
  endif()
  if(PIPEWRIGHT_STATIC)
    install_licences(pipewright ${doc}/licenses)
  endif()
  if(NOT CMAKE_CROSSCOMPILING AND NOT PIPEWRIGHT_SANITIZE)
    install_what_the_program_prints()
  endif()
endfunction()

# Installs the licences of the libraries that a static program contains, both of those that
# `./dev deps --static` built and of those from the system.
function(install_licences component destination)
  install(DIRECTORY ${CMAKE_PREFIX_PATH}/licenses/ DESTINATION ${destination}
    COMPONENT ${component})
  file(GLOB copyrights LIST_DIRECTORIES OFF
    /usr/share/doc/libc6-dev/copyright
    /usr/share/doc/libstdc++-*-dev/copyright
    /usr/share/doc/libboost[0-9.]*-dev/copyright
    /usr/share/doc/libpixman-1-dev/copyright
    /usr/share/doc/libpng-dev/copyright
    /usr/share/doc/zlib1g-dev/copyright
    /usr/share/doc/libeigen3-dev/copyright
    /usr/share/doc/libtomlplusplus-dev/copyright
    /usr/share/doc/nlohmann-json3-dev/copyright
    /usr/share/doc/fonts-dejavu-core/copyright)
  foreach(file IN LISTS copyrights)
    cmake_path(GET file PARENT_PATH package)
    cmake_path(GET package FILENAME package)
    install(FILES ${file} DESTINATION ${destination}/${package} COMPONENT ${component})
  endforeach()
endfunction()

# printed(<file> <word>...): the file in share/ of the build folder is what `pipewright WORD..`
# prints.
macro(printed file)
  add_custom_command(OUTPUT ${share}/${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${share}
    COMMAND pipewright ${ARGN} > ${share}/${file}
    DEPENDS pipewright
    COMMENT "Printing ${file}"
    VERBATIM)
  list(APPEND printed ${share}/${file})
endmacro()

function(install_what_the_program_prints)
  set(share ${CMAKE_BINARY_DIR}/share)
  printed(pipewright.1 help --man)
  printed(pipewright.bash completion bash)
  printed(_pipewright completion zsh)
  printed(pipewright.fish completion fish)
  add_custom_target(pipewright_share ALL DEPENDS ${printed})
  install(FILES ${share}/pipewright.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT pipewright)
  if(TARGET pipewright-mpi)
    file(WRITE ${share}/pipewright-mpi.1 ".so man1/pipewright.1\n")
    install(FILES ${share}/pipewright-mpi.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
      COMPONENT mpi)
  endif()
  install(FILES ${share}/pipewright.bash COMPONENT pipewright RENAME pipewright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${share}/pipewright.fish COMPONENT pipewright
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  # Debian's zsh looks in the second one below /usr, and in the first one below /usr/local.
  set(zsh_folders site-functions)
  if(EXISTS /etc/debian_version)
    list(APPEND zsh_folders vendor-completions)
  endif()
  foreach(folder IN LISTS zsh_folders)
    install(FILES ${share}/_pipewright COMPONENT pipewright
      DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${folder})
  endforeach()
endfunction()

# Two packages of Debian: only pipewright-mpi needs MPI. dpkg-shlibdeps finds the libraries on which
# they depend. The package of a static program depends on none.
function(package_pipewright)
  set(CPACK_PACKAGE_NAME pipewright)
  set(CPACK_PACKAGE_CONTACT "The pipewright developers <pipewright@pipewright.invalid>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  string(JOIN "\n" CPACK_PACKAGE_DESCRIPTION
    "A discrete-event simulator of the training of large models: from a model, the"
    "sizes of its parallelism, a schedule and a cluster it tells the time of an"
    "iteration, bubbles, exposed communication and memory, and searches for what"
    "is best.")
  set(CPACK_PACKAGE_FILE_NAME pipewright-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_GENERATOR TGZ)
  find_program(dpkg_shlibdeps dpkg-shlibdeps)
  mark_as_advanced(dpkg_shlibdeps)
  if(dpkg_shlibdeps)
    set(CPACK_GENERATOR DEB)
  endif()
  set(CPACK_COMPONENTS_ALL pipewright)
  if(TARGET pipewright-mpi)
    list(APPEND CPACK_COMPONENTS_ALL mpi)
  endif()
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_COMPRESSION_TYPE xz)  # Debian 11 reads no other that is as small.
  set(CPACK_DEBIAN_PIPEWRIGHT_PACKAGE_NAME pipewright)
  if(NOT PIPEWRIGHT_STATIC)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
    if(NOT PIPEWRIGHT_FONTS)
      set(CPACK_DEBIAN_PIPEWRIGHT_PACKAGE_RECOMMENDS fonts-dejavu-core)
    endif()
  endif()
  set(CPACK_COMPONENT_PIPEWRIGHT_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
  set(CPACK_DEBIAN_MPI_PACKAGE_NAME pipewright-mpi)
  set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "pipewright (= ${PROJECT_VERSION})")
  if(MPI_mpi_LIBRARY MATCHES openmpi)
    # Its library starts a process of that, even for one rank.
    string(APPEND CPACK_DEBIAN_MPI_PACKAGE_DEPENDS ", openmpi-bin")
  endif()
  set(CPACK_COMPONENT_MPI_DESCRIPTION "Spreads the searches of pipewright over many machines by \
MPI.")
  include(CPack)
endfunction()
