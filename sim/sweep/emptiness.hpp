#pragma once

#include <string>

#include "sim/sweep/domain.hpp"

namespace pipewright::search {

// Explains why a domain has no candidates: the rules that contradict each other, and the nearest
// candidate that exists when a single rule is left out.
std::string why_empty(const Domain& domain);

}  // namespace pipewright::search
