#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "analysis/summary.hpp"

namespace pipewright::analysis {

// A figure beside those of the run itself.
struct JsonField {
  std::string key;
  std::variant<double, bool, std::string> value;
};
using JsonFields = std::vector<JsonField>;

// One run as an object, several as an array of them; ends with a newline. Keys carry their units
// and mean what metrics.md says; numbers are written so that reading them gives the same double.
// `more` is empty, or has fields for each run.
std::string json_summary(std::span<const Summary> runs, std::span<const JsonFields> more = {});
// An array, however many they are.
std::string json_list(std::span<const Summary> runs, std::span<const JsonFields> more = {});

}  // namespace pipewright::analysis
