# What many files include, parsed once: most of a build's time is the parsing of headers.
#
#   common_headers(<name> <library>... <header>...)
#
# makes precompiled headers of the standard library and of the headers given, which are found by the
# libraries given. A target takes them by
#   target_precompile_headers(<target> REUSE_FROM <name>)
# and every file still includes what it uses.

function(common_headers name)
  set(headers ${ARGN})
  list(FILTER headers INCLUDE REGEX "^<")
  set(libraries ${ARGN})
  list(FILTER libraries EXCLUDE REGEX "^<")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE ${libraries})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <charconv> <cmath> <cstdint> <filesystem> <functional> <limits> <map>
    <memory> <numeric> <optional> <set> <span> <stdexcept> <string> <string_view> <tuple>
    <unordered_map> <utility> <vector> ${headers})
endfunction()
