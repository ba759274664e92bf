#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/operation.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {

// One line of the table that nccl-tests would print.
struct BenchRow {
  std::uint64_t bytes = 0;
  double seconds = 0;    // as simulated, of the slowest group
  double formula = 0;    // seconds: steps x latency + bytes / bandwidth of a GPU's own links
  std::string by;        // "ring, LL128"
  bool untried = false;  // outside of what the cluster's file was held against

  double difference() const { return seconds / formula - 1; }  // what the formula does not see
};

// Of an all-to-all-v: who sends most to others, or receives most from them.
struct BusiestRank {
  std::uint32_t rank = 0;
  bool sends = true;
  double share = 0;      // of the row's "size"
  double over_mean = 0;  // what it sends or receives, over what the mean rank does
};

struct BenchReport {
  std::string cluster;
  Operation operation = Operation::all_reduce;
  std::uint32_t groups = 1;            // that do the same at once
  std::uint32_t nodes = 0;             // that a group is on
  std::vector<std::string> gpus;       // of the first group, by rank
  std::vector<std::uint32_t> node_of;  // each of them
  // Where the cluster's file was held against measurements of this operation, and with what errors;
  // empty if it says nothing of it.
  std::string tried;
  bool has_record = false;             // the file says something of an operation
  std::string matrix;                  // file of an all-to-all-v's bytes; empty: no such thing
  std::optional<BusiestRank> busiest;  // of it
  std::optional<double> assumed;       // bus bandwidth in bytes/s that is to be looked at
  std::vector<BenchRow> rows;

  // What bus bandwidth is of the algorithm's. Of an all-to-all-v what the busiest rank's link has
  // to carry, as (n-1)/n is of an all-to-all.
  double factor() const { return busiest ? busiest->share : bus_factor(operation, ranks()); }
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(gpus.size()); }
};

// "all-reduce over 16 ranks on 2 nodes"
std::string bench_title(const BenchReport& report);
// As nccl-tests prints it, and beside it the formula; and what follows from it, a sentence or two
// each.
TextTable bench_table(const BenchReport& report);
std::vector<std::string> bench_findings(const BenchReport& report);
std::string bench_text(const BenchReport& report);
// Exactly as nccl-tests prints it, for tools that read its logs.
std::string bench_log(const BenchReport& report);
std::string bench_json(const BenchReport& report);
std::string bench_csv(const BenchReport& report);

}  // namespace pipewright::analysis
