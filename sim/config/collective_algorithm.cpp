#include "sim/config/collective_algorithm.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::config {

std::string_view to_string(Algorithm algorithm) {
  return algorithm_names.at(static_cast<std::size_t>(algorithm));
}

std::optional<Algorithm> parse_algorithm(std::string_view name) {
  const auto found = std::ranges::find(algorithm_names, name);
  if (found == algorithm_names.end()) return std::nullopt;
  return static_cast<Algorithm>(found - algorithm_names.begin());
}

std::string algorithm_list() {
  return fmt::format("{} or {}",
                     fmt::join(algorithm_names.begin(), algorithm_names.end() - 1, ", "),
                     algorithm_names.back());
}

std::optional<std::string_view> switches_of(Algorithm algorithm) {
  if (algorithm == Algorithm::nvls) return "inside";
  if (algorithm == Algorithm::sharp) return "between";
  return std::nullopt;
}

}  // namespace pipewright::config
