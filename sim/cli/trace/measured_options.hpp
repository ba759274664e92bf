#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/import/measured_run.hpp"
#include "sim/cli/options.hpp"

// The options of commands that read measured runs.
namespace pipewright::cli {

void add_measured_options(po::options_description& options);

// Throws UsageError.
analysis::ImportOptions measured_options(const po::variables_map& given);

// "rank{rank}.json" stands for the files of all ranks.
std::vector<std::filesystem::path> expand_ranks(const std::vector<std::string>& names);

// Reads them as one run, with a progress bar.
analysis::MeasuredRun read_measured(const std::vector<std::filesystem::path>& files,
                                    const analysis::ImportOptions& options);

// "rank0.json", "rank0.json and 3 more"
std::string measured_name(const std::vector<std::filesystem::path>& files);

}  // namespace pipewright::cli
