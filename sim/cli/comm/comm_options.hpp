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

// --cluster FILE.xml|NAME, which all verbs have.
void add_cluster_option(po::options_description& options);
// --fail, --slow and --multipath, which load_cluster() then takes.
void add_failure_options(po::options_description& options);
cluster::Cluster load_cluster(const po::variables_map& given, const std::string& verb);

// "automatic" (or "auto"), "ring", ..; and "180 GB/s" of --assume. Throw UsageError.
void add_algorithm_option(po::options_description& options);
config::Algorithm parse_algorithm(const std::string& text);
double parse_bandwidth(std::string_view text);

// "8:8G:2" is 8, 16, .. 8 GiB, as nccl-tests' -b, -e and -f; "1M:1G:+1M" steps by an amount;
// "4K,1M" are these. Suffixes K, M, G and KiB.. are powers of 1024. Throws UsageError.
std::vector<std::uint64_t> parse_sizes(const std::string& text, const std::string& flag);

// What verbs that read logs of benchmarks ask about them: --op, --ranks and --nodes, for logs that
// leave them unsaid.
void add_log_options(po::options_description& options);

// The words without an option. Throws UsageError if there are none.
std::vector<std::filesystem::path> log_files(const po::variables_map& given,
                                             const std::string& verb);

// Reads them, and prints what the reader did not like to standard error.
analysis::MeasurementLog read_given_logs(const po::variables_map& given, const std::string& verb);

}  // namespace pipewright::cli
