# Precompiled headers, since parsing headers takes most of a build's time.
#
#   common_headers(<name> <library>... <header>...)
#
# precompiles headers of the standard library and the given headers, which belong to the given
# libraries. A target uses them with
#   target_precompile_headers(<target> REUSE_FROM <name>)
# Every source file still includes the headers that it uses.

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

# compiles_fast(<target>): the target spends its time in reading and printing text, so -O1 is as good
# as -O2 for its users, and takes a quarter less of the compiler's time.
function(compiles_fast target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
