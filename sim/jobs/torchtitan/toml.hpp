#pragma once

#include <string>
#include <vector>

#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs {

// The values of a TOML file by dotted names, "training.seq_len". Throws config::Error with the
// place of what is no TOML.
std::vector<Setting> read_toml(const Source& source);

}  // namespace pipewright::jobs
