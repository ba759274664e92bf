#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs {

// Reads a TOML file. Its settings have dotted names: "training.seq_len". Throws config::Error with
// the location of a syntax error.
std::vector<Setting> read_toml(const Source& source);

// Formats `text` as a basic string of TOML, with quotes.
std::string toml_string(std::string_view text);

}  // namespace pipewright::jobs
