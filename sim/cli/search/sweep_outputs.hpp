#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "analysis/report/search/rows.hpp"
#include "analysis/web/search/search_page.hpp"
#include "sim/cli/search/winner_questions.hpp"

namespace pipewright::cli {

// Functions and answers that output files take their texts from.
struct OutputTexts {
  analysis::ScenarioOf scenario_of;
  analysis::LaunchesOf launches_of;
  std::optional<std::uint64_t> candidate;  // candidate to write as a scenario; empty: the best
  const WinnerAnswers& answers;
};

// Throws UsageError for a file with an unknown extension.
void check_sweep_outputs(std::span<const std::filesystem::path> files);

// Writes the page, the best as a scenario, or all candidates, depending on the extension.
void write_sweep_output(const std::filesystem::path& file, const analysis::SearchRun& run,
                        const OutputTexts& output_texts);

}  // namespace pipewright::cli
