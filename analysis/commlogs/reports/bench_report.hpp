#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/operation.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {

// Simulated time of one message size: a row of the table that nccl-tests would print.
struct BenchRow {
  std::uint64_t bytes = 0;
  double seconds = 0;  // Simulated time of the slowest group, in seconds.
  // Estimate in seconds: steps x latency + bytes / bandwidth of a GPU's own links.
  double formula = 0;
  std::string method;    // Algorithm and protocol: "ring, LL128".
  bool untried = false;  // The cluster's file was not compared with measurements of this size.

  // Returns the simulated time relative to the formula: 0.1 if it is 10 % longer.
  double difference() const { return seconds / formula - 1; }
};

// The rank of an all-to-all-v with the most bytes to send to other ranks, or to receive from them.
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
  // Summary of the measurements of this operation on which the cluster's file was validated, with
  // the errors; empty if the file has no record of this operation.
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
// Table in the format of nccl-tests with the formula's time in extra columns, and the conclusions
// drawn from it, of a sentence or two each.
TextTable bench_table(const BenchReport& report);
std::vector<std::string> bench_findings(const BenchReport& report);
std::string bench_text(const BenchReport& report);
// Returns the results in the exact format of nccl-tests, for tools that read its logs.
std::string bench_log(const BenchReport& report);
std::string bench_json(const BenchReport& report);
std::string bench_csv(const BenchReport& report);

}  // namespace pipewright::analysis
