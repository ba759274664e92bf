#pragma once

#include <string>

#include "sim/config/huggingface/config.hpp"

namespace pipewright::config::huggingface {

// Returns the parts of a model that its config.json has and that are not modelled, each with its
// key: "hyper-connections (hc_mult)". Keys that were read or whose value disables them do not
// count. Empty if there is no such part.
std::string missing_parts(const Config& config);

// Throws an Error at the first key of such a part, which names all of them.
void check_missing(const Config& config);

}  // namespace pipewright::config::huggingface
