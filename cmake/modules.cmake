# Parts of the program that it loads when a command needs them (modules/module.hpp).
#
#   add_module(<name> <library> <entry> <opened> <external library>...)
#
# builds libpipewright_<name>.so from the entry point in <entry> and all of the static <library>; the
# module takes every other symbol of the project from the program. A target that links <library>
# calls its functions directly. The program links <opened> instead, which defines functions of the
# same names that call through the table of the entry point.
#
#   open_modules(<program>)
#
# lets a program load the modules: the program contains and exports the symbols that they need.
#
# With PIPEWRIGHT_STATIC there are no modules: the program links every <library> and calls its
# functions directly.

if(CMAKE_SCRIPT_MODE_FILE)
  set(symbols)
  foreach(module IN LISTS MODULES)
    execute_process(COMMAND ${NM} -D -u -j ${module} OUTPUT_VARIABLE undefined
      COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]*10pipewright[^\n]*" ours "${undefined}")
    list(APPEND symbols ${ours})
  endforeach()
  list(SORT symbols)
  list(REMOVE_DUPLICATES symbols)
  list(JOIN symbols ";\n" exported)
  list(TRANSFORM symbols PREPEND "-Wl,-u,")
  list(JOIN symbols "\n" needed)
  file(WRITE ${OUTPUT}.exported "{\n${exported};\n};\n")
  file(WRITE ${OUTPUT}.needed "${needed}\n")
  return()
endif()

include(GNUInstallDirs)
set(modules_script ${CMAKE_CURRENT_LIST_FILE})

function(add_module name library entry opened)
  if(PIPEWRIGHT_STATIC)
    return()
  endif()
  add_library(pipewright_${name}_module MODULE ${entry} $<TARGET_OBJECTS:${library}>)
  target_link_libraries(pipewright_${name}_module PRIVATE ${ARGN})
  target_link_options(pipewright_${name}_module PRIVATE LINKER:--as-needed
    LINKER:--version-script=${CMAKE_SOURCE_DIR}/modules/exports.map)
  set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  set_target_properties(pipewright_${name}_module PROPERTIES
    OUTPUT_NAME pipewright_${name}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  install(TARGETS pipewright_${name}_module
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/pipewright COMPONENT pipewright)
  set_property(GLOBAL APPEND PROPERTY PIPEWRIGHT_MODULES pipewright_${name}_module)
  set_property(GLOBAL APPEND PROPERTY PIPEWRIGHT_OPENED ${CMAKE_CURRENT_SOURCE_DIR}/${opened})
endfunction()

function(open_modules program)
  if(PIPEWRIGHT_STATIC)
    target_link_options(${program} PRIVATE -static)
    return()
  endif()
  get_property(modules GLOBAL PROPERTY PIPEWRIGHT_MODULES)
  get_property(opened GLOBAL PROPERTY PIPEWRIGHT_OPENED)
  set(files)
  foreach(module IN LISTS modules)
    list(APPEND files $<TARGET_FILE:${module}>)
  endforeach()
  set(output ${CMAKE_BINARY_DIR}/modules/symbols)
  string(REPLACE ";" "$<SEMICOLON>" files_argument "${files}")
  add_custom_command(
    OUTPUT ${output}.exported ${output}.needed
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DOUTPUT=${output} "-DMODULES=${files_argument}"
            -P ${modules_script}
    DEPENDS ${modules} ${modules_script}
    COMMENT "Collecting what modules take from ${program}"
    VERBATIM)
  target_sources(${program} PRIVATE ${opened} ${output}.exported ${output}.needed)
  target_link_libraries(${program} PRIVATE pipewright_modules)
  target_link_options(${program} PRIVATE LINKER:--as-needed LINKER:--dynamic-list=${output}.exported
    @${output}.needed)
  set_property(TARGET ${program} APPEND PROPERTY LINK_DEPENDS ${output}.exported ${output}.needed)
endfunction()
