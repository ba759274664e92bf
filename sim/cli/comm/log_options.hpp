#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/comm/measurement.hpp"
#include "sim/cli/options.hpp"

namespace pipewright::cli {

// What verbs that read logs of benchmarks ask about them: --op, --ranks and --nodes, for logs that
// leave them unsaid.
void add_log_options(po::options_description& options);

// The words without an option. Throws UsageError if there are none.
std::vector<std::filesystem::path> log_files(const po::variables_map& given,
                                             const std::string& verb);

// Reads them, and prints what the reader did not like to standard error.
analysis::MeasurementLog read_given_logs(const po::variables_map& given, const std::string& verb);

}  // namespace pipewright::cli
