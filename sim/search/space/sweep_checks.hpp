#pragma once

#include "sim/config/text/value.hpp"

namespace pipewright::search {

// Throws the config::Error that `pipewright run` would for any single value of a sweep's scenario,
// before there is a space. Whether values go together, each candidate shows.
void check_values(const config::Value& scenario);

}  // namespace pipewright::search
