#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/search/space/axis.hpp"
#include "sim/search/space/program.hpp"

namespace pipewright::search {

// What candidates have to keep to.
struct Rule {
  std::string text;                // as written
  config::Origin origin;           // where; a rule that always is has none
  std::vector<std::size_t> axes;   // that it hangs on, in order
  std::optional<Program> program;  // none: the parallel sizes come to an allowed number of GPUs
  std::optional<Program> miss;     // of one that compares numbers: how far apart they are
};

// Those that always are, then the sweep's constraints. Throws config::Error.
std::vector<Rule> make_rules(const Sweep& sweep, const Axes& axes, Names& names);

// "sweep.yaml:9:17: constraint 'tp <= 4', column 7: " before what is wrong.
config::Error fault_of(const Rule& rule, const ExpressionError& error);

}  // namespace pipewright::search
