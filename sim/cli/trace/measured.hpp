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

// Measured runs: the options of commands that read them, and what schedule they followed.
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

analysis::PassOrder order_of(const schedules::Schedule& schedule);

// The order of passes of the first iteration. Throws schedules::Error where a stage is on two
// devices, which is more than a list of passes a device says.
schedules::Schedule measured_schedule(const trace::Trace& trace);

// The schedule of the catalog with the order of the first iteration; null if there is none.
const schedules::Entry* catalog_entry(const trace::Trace& trace);

}  // namespace pipewright::cli
