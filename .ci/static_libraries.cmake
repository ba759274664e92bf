# Included by the project of SimGrid, which builds a shared library alone: packages need a static one.
macro(add_library name)
  set(arguments ${ARGN})
  list(TRANSFORM arguments REPLACE "^SHARED$" "STATIC" AT 0)
  _add_library(${name} ${arguments})
endmacro()
