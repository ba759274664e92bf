#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pipewright::config {

// By which algorithm a collective goes over its ranks; `automatic` leaves the choice to NCCL's own
// model of what each takes. How each goes: sim/execution/collectives/algorithm_choice.cpp.
enum class Algorithm : std::uint8_t { automatic, ring, tree, hierarchical, direct, nvls, sharp };

// Their names in scenario files, options and reports, in the order of the enumeration.
inline constexpr std::array<std::string_view, 7> algorithm_names{
    "automatic", "ring", "tree", "hierarchical", "direct", "nvls", "sharp"};
static_assert(algorithm_names.size() == static_cast<std::size_t>(Algorithm::sharp) + 1);

std::string_view to_string(Algorithm algorithm);
std::optional<Algorithm> parse_algorithm(std::string_view name);
// "automatic, ring, .. or sharp".
std::string algorithm_list();

// Where the switches are that add up for an algorithm: inside nodes (NVLink SHARP) or between them
// (SHARP). None: ranks add up, so that it needs no such switches.
std::optional<std::string_view> switches_of(Algorithm algorithm);

}  // namespace pipewright::config
