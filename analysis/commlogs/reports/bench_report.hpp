#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/operation.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {

// A row of the table, as nccl-tests would print it.
struct BenchRow {
  std::uint64_t bytes = 0;
  double seconds = 0;  // Simulated time of the slowest group.
  // Time by formula, in seconds: steps x latency + bytes / bandwidth of a GPU's own links.
  double formula = 0;
  std::string method;    // Algorithm and protocol: "ring, LL128".
  bool untried = false;  // The cluster's file was not compared with measurements of this size.

  // Relative difference between simulation and formula.
  double difference() const { return seconds / formula - 1; }
};

// The rank of an all-to-all-v that sends most to other ranks, or receives most from them.
struct BusiestRank {
  std::uint32_t rank = 0;
  bool sends = true;
  double share = 0;      // Relative to the row's "size".
  double over_mean = 0;  // Ratio to the mean of all ranks.
};

struct BenchReport {
  std::string cluster;
  Operation operation = Operation::all_reduce;
  std::uint32_t groups = 1;            // Number of groups that run the operation at the same time.
  std::uint32_t nodes = 0;             // Nodes of a group.
  std::vector<std::string> gpus;       // GPUs of the first group, by rank.
  std::vector<std::uint32_t> node_of;  // Node of each GPU.
  // Measurements of this operation that the cluster's file was compared with, and the errors; empty
  // if the file has no record of it.
  std::string tried;
  bool has_record = false;  // The file has a record of any operation.
  std::string matrix;       // File with the bytes of an all-to-all-v; empty for other operations.
  std::optional<BusiestRank> busiest;  // Set for an all-to-all-v.
  std::optional<double> assumed;       // Assumed bus bandwidth to check, in bytes/s.
  std::vector<BenchRow> rows;

  // Returns the ratio of bus bandwidth to algorithm bandwidth. For an all-to-all-v it is the share
  // of the busiest rank's link, in analogy to (n-1)/n for an all-to-all.
  double factor() const { return busiest ? busiest->share : bus_factor(operation, ranks()); }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(gpus.size()); }
};

// "all-reduce over 16 ranks on 2 nodes"
std::string bench_title(const BenchReport& report);
// Table of nccl-tests with the formula beside it, and conclusions of a sentence or two each.
TextTable bench_table(const BenchReport& report);
std::vector<std::string> bench_findings(const BenchReport& report);
std::string bench_text(const BenchReport& report);
// Returns the exact format of nccl-tests, for tools that read its logs.
std::string bench_log(const BenchReport& report);
std::string bench_json(const BenchReport& report);
std::string bench_csv(const BenchReport& report);

}  // namespace pipewright::analysis
