#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/commlogs/measurement.hpp"
#include "sim/cli/options.hpp"
#include "sim/cluster/cluster.hpp"
#include "sim/config/communication.hpp"

namespace pipewright::cli {

// Adds --cluster FILE.xml|NAME, which all `comm` commands have.
void add_cluster_option(po::options_description& options);
// Adds --fail, --slow and --multipath, which load_cluster() applies.
void add_failure_options(po::options_description& options);
cluster::Cluster load_cluster(const po::variables_map& options, const std::string& verb);

// Parses --algorithm ("automatic", "auto", "ring", ..) and --assume ("180 GB/s"). Throw UsageError
// for any other text.
void add_algorithm_option(po::options_description& options);
config::Algorithm parse_algorithm(const std::string& text);
double parse_bandwidth(std::string_view text);

// Expands sizes: "8:8G:2" is 8, 16, .. 8 GiB, like -b, -e and -f of nccl-tests; "1M:1G:+1M" has a
// fixed step; "4K,1M" is a list. Suffixes K, M, G and KiB, .. are powers of 1024. Throws
// UsageError.
std::vector<std::uint64_t> parse_sizes(const std::string& text, const std::string& flag);

// Parses an operation such as "all-reduce". Throws UsageError that begins with `subject`, such as
// "--op 'allreduce'", and suggests the operation that a text of another program stands for.
analysis::Operation parse_operation_name(const std::string& text, const std::string& subject);

// Adds --op, --ranks and --nodes for logs that do not contain them.
void add_log_options(po::options_description& options);

// Returns the log files to read, which are the arguments without an option. Throws UsageError if
// there are none.
std::vector<std::filesystem::path> log_files(const po::variables_map& options,
                                             const std::string& verb);

// Reads the logs that the user named, and prints the notes of the reader to standard error.
analysis::MeasurementLog read_given_logs(const po::variables_map& options, const std::string& verb);

// Adds a remark to the log, and prints it to standard error, for each kind of GPU in the logs that
// the cluster does not have.
void remark_on_gpus(const cluster::Cluster& cluster, analysis::MeasurementLog& log);

}  // namespace pipewright::cli
