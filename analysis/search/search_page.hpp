#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "analysis/search/rows.hpp"

namespace pipewright::analysis {

// A candidate as a scenario that `pipewright run` takes, in YAML.
using ScenarioOf = std::function<std::string(std::uint64_t candidate)>;

// Writes one HTML file that needs nothing else: the best and why the next one loses, throughput
// against memory with the Pareto front, all axes side by side, the best of each pair of values, and
// for a point that is clicked on its figures, its scenario and a command. `scenario_of` is asked
// for simulated candidates: those on a front and the best `most_scenarios`. The file appears under
// its name once it is whole; one that cannot be written is a trace::TraceError.
void write_search_page(const std::filesystem::path& path, const SearchRun& run,
                       const ScenarioOf& scenario_of);

inline constexpr std::size_t most_scenarios = 5000;

}  // namespace pipewright::analysis
