#pragma once

#include <string>

#include "sim/sweep/domain.hpp"

namespace pipewright::search {

// Of a domain whose rules leave nothing: which of them contradict each other, and what the nearest
// candidate is if one of them is left out.
std::string why_empty(const Domain& domain);

}  // namespace pipewright::search
