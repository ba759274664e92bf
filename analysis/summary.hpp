#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// One device's share of a run. Definitions with formulas: analysis/metrics.md.
struct DeviceSummary {
  std::uint32_t device = 0;
  std::string host;
  std::uint64_t passes = 0;
  double busy_s = 0;                    // sum of its passes' durations
  double start_s = 0;                   // its first pass starts
  double end_s = 0;                     // its last pass ends
  double exposed_communication_s = 0;   // idle while its next input or its own send is on the way
  double peak_in_flight = 0;            // microbatches of a whole device (a chunk counts 1/chunks)
  std::uint64_t peak_memory_bytes = 0;  // over all categories at once
  std::uint64_t memory_capacity_bytes = 0;  // 0: unknown
};

// What one run comes to. Times in seconds from the start of the run.
struct Summary {
  trace::RunInfo run;
  double makespan_s = 0;     // latest end over devices
  double bubble_ratio = 0;   // 1 - busy / (devices * makespan)
  double span_bubble_s = 0;  // max over devices of (last end - first start - busy)
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  std::vector<DeviceSummary> devices;
};

// Builds a summary from rows as they come, in memory that does not grow with them.
class SummarySink final : public trace::Sink {
 public:
  void begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
             const std::vector<trace::StageRow>& stages) override;
  void pass(const trace::PassRow& row) override;
  void transfer(const trace::TransferRow&) override {}
  void memory(const trace::MemoryRow& row) override;
  void finish() override;

  const Summary& summary() const { return summary_; }

 private:
  // What runs at once: a pass, or a fused forward and backward.
  struct Pair {
    double start = 0;
    double gap_start = 0;  // the end of what ran before
    double send_end = 0;   // and of its blocking send
    double exposed = 0;    // communication in the gap
  };
  struct Running {
    Pair pair;
    double previous_end = 0;       // of the pass before
    double previous_released = 0;  // likewise
    int chunks_in_flight = 0;
    int peak_chunks_in_flight = 0;
    std::array<std::uint64_t, trace::memory_categories> held{};  // bytes
  };
  Summary summary_;
  std::vector<Running> running_;
  std::vector<bool> recomputed_;  // by stage
};

Summary summarize(const trace::Trace& trace);

double exposed_communication(const Summary& summary);  // seconds, of the device that has most of it

}  // namespace pipewright::analysis
