#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/comm/reports/fit_report.hpp"

namespace pipewright::comm {

using Properties = std::vector<std::pair<std::string, std::string>>;  // id, value

// A platform file's text with these properties of its outermost zone: values of those that it has
// are replaced, the others come first in the zone, below a comment. All else stays as it is, byte
// for byte. Throws cluster::Error for a text that is no platform file.
std::string with_properties(const std::string& text, const Properties& properties,
                            std::span<const std::string> comment);

// A platform file's text with the fitted parameters, and where they come from: as a comment, and as
// a property `fitted-from` that names the logs. `made_by` is the program and its version.
std::string fitted_platform(const std::string& text, const analysis::FitReport& report,
                            const std::string& made_by);

}  // namespace pipewright::comm
