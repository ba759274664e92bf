#pragma once

#include <filesystem>
#include <span>

#include "analysis/search/rows.hpp"
#include "analysis/search/search_page.hpp"

namespace pipewright::cli {

// Throws UsageError for a file whose kind or folder is not known.
void check_sweep_outputs(std::span<const std::filesystem::path> files);

// Each by its extension: the page, the best as a scenario, or all candidates.
void write_sweep_output(const std::filesystem::path& file, const analysis::SearchRun& run,
                        const analysis::ScenarioOf& scenario_of);

}  // namespace pipewright::cli
