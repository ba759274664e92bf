#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Order, ranges and parts of the names of hosts and links in platform files.
namespace pipewright::cluster {

// Compares runs of digits as numbers: node-2 comes before node-10.
bool natural_less(const std::string& a, const std::string& b);

// Expands a SimGrid radical: "0-2,7" gives 0, 1, 2, 7. Returns nothing if it is malformed.
std::optional<std::vector<int>> parse_radical(std::string_view text);

// Expands bracketed ranges: "a-[0-1]-x b" gives a-0-x, a-1-x, b. Returns nothing if a bracket is
// malformed.
std::optional<std::vector<std::string>> expand_names(std::string_view text);

// Drops the direction of a duplex link: "node-0-nvlink-7_UP" becomes "node-0-nvlink-7".
std::string without_direction(std::string_view link);

// Drops direction and numbers: "node-0-nvlink-7_UP" becomes "node-nvlink".
std::string without_numbers(std::string_view name);

}  // namespace pipewright::cluster
