#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/measured/compare/pass_order.hpp"
#include "analysis/measured/measured_run.hpp"
#include "analysis/trace/rows.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/schedule.hpp"
#include "sim/cli/options.hpp"

// Measured runs: options of the commands that read them, and the schedule of a run.
namespace pipewright::cli {

void add_measured_options(po::options_description& options);

// Throws UsageError.
analysis::ImportOptions measured_options(const po::variables_map& flags);

// Replaces names such as "rank{rank}.json" by the files of all ranks.
std::vector<std::filesystem::path> expand_ranks(const std::vector<std::string>& names);

// Reads the files of one run, with a progress bar.
analysis::MeasuredRun read_measured(const std::vector<std::filesystem::path>& files,
                                    const analysis::ImportOptions& options);

// Name of the files in messages: "rank0.json", "rank0.json and 3 more"
std::string measured_name(const std::vector<std::filesystem::path>& files);

analysis::PassOrder order_of(const schedules::Schedule& schedule);

// Schedule with the order of passes of the first iteration. Throws schedules::Error if a stage is
// on two devices, which a schedule file cannot express.
schedules::Schedule measured_schedule(const trace::Trace& trace);

// Schedule of the catalogue with the order of the first iteration, or null.
const schedules::Entry* catalog_entry(const trace::Trace& trace);

}  // namespace pipewright::cli
