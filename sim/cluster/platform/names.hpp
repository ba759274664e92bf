#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How hosts and links are called.
namespace pipewright::cluster {

// Runs of digits compare as numbers: node-2 before node-10.
bool natural_less(const std::string& a, const std::string& b);

// "0-2,7" is 0, 1, 2, 7, as SimGrid's radicals; none if it is malformed.
std::optional<std::vector<int>> parse_radical(std::string_view text);

// "a-[0-1]-x b" is a-0-x, a-1-x, b; none if a bracket is malformed.
std::optional<std::vector<std::string>> expand_names(std::string_view text);

// "node-0-nvlink-7_UP", one direction of a duplex link, is node-0-nvlink-7.
std::string without_direction(std::string_view link);

// "node-0-nvlink-7_UP" is node-nvlink.
std::string without_numbers(std::string_view name);

}  // namespace pipewright::cluster
