#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/idle_time.hpp"
#include "analysis/report/job.hpp"
#include "analysis/report/pass_collectives.hpp"
#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// Where a device's time goes, in seconds that add up to the makespan. What is neither computing,
// nor the optimizer's step, nor idle is exposed communication: the device waits for it.
struct TimeParts {
  double compute = 0;    // passes, without their collectives
  double in_passes = 0;  // tensor, context and expert collectives
  double p2p = 0;        // its next input or its own send is on the way
  double gradients = 0;  // data-parallel reduction, and tied embeddings, once all are there
  double weights = 0;    // sharded weights that are gathered
  double optimizer = 0;
  double idle = 0;  // bubble, and all other waiting

  double exposed() const { return p2p + in_passes + gradients + weights; }
};

// One device's share of a run. Definitions with formulas: analysis/metrics.md.
struct DeviceSummary {
  std::uint32_t device = 0;
  std::string host;
  std::uint64_t passes = 0;
  double busy_s = 0;   // sum of its passes' durations
  double start_s = 0;  // its first pass starts
  double end_s = 0;    // its last pass ends
  TimeParts parts;
  double peak_in_flight = 0;            // microbatches of a whole device (a chunk counts 1/chunks)
  std::uint64_t peak_memory_bytes = 0;  // over all categories at once
  std::array<std::uint64_t, trace::memory_categories> at_peak{};  // bytes of each category then
  double peak_time_s = 0;                                         // when that is first so
  std::uint64_t memory_capacity_bytes = 0;                        // 0: unknown
  std::string memory_host;             // of its GPU that has so little, unless it is `host`
  std::optional<double> over_since_s;  // when it first holds more than that

  // Of its peak, without what the driver, NCCL and fragmentation keep: what PyTorch reports as
  // max_memory_allocated.
  std::uint64_t peak_allocated_bytes() const {
    return peak_memory_bytes - at_peak[static_cast<std::size_t>(trace::MemoryCategory::allowance)];
  }
  bool fits() const {
    return memory_capacity_bytes == 0 || peak_memory_bytes <= memory_capacity_bytes;
  }
  std::uint64_t over_capacity_bytes() const {
    return fits() ? 0 : peak_memory_bytes - memory_capacity_bytes;
  }
};

// What one run comes to. Times in seconds from the start of the run.
struct Summary {
  trace::RunInfo run;
  std::optional<JobInfo> job;  // where whoever asks knows it
  double makespan_s = 0;       // latest end over devices, their optimizer's steps included
  double bubble_ratio = 0;     // 1 - busy / (devices * makespan)
  double span_bubble_s = 0;    // max over devices of (last end - first start - busy)
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  // FLOP/s, of forward and backward without recompute, and their part of the GPU's peak: causal
  // attention counted once, or its whole square of scores.
  std::optional<double> model_flops_per_gpu;
  std::optional<double> mfu;
  std::optional<double> full_attention_flops_per_gpu;
  std::optional<double> mfu_full_attention;
  std::optional<double> mfu_precision;  // as mfu, of the peak of the recipe's data type
  std::optional<double> hfu;            // as mfu, with what is recomputed
  std::vector<DeviceSummary> devices;
  std::vector<PassCollectives> pass_collectives;
};

// Builds a summary from rows as they come, in memory that does not grow with them.
class SummarySink final : public trace::Sink {
 public:
  void begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
             const std::vector<trace::StageRow>& stages) override;
  void pass_collective(const trace::PassCollectiveRow& row) override {
    pass_collectives_.push_back(row);
  }
  void pass(const trace::PassRow& row) override;
  void transfer(const trace::TransferRow&) override {}
  void memory(const trace::MemoryRow& row) override;
  void collective(const trace::CollectiveRow& row) override;
  void step(const trace::StepRow& row) override;
  void finish() override;

  const Summary& summary() const { return summary_; }

 private:
  // The gap after an iteration's last pass, which the step of the optimizer cuts in two. A file has
  // its steps after all passes, an engine reports a step before the next pass.
  struct Between {
    std::vector<Reduction> reductions;
    std::optional<Gap> gap;  // so far: passes of two iterations alternate where these overlap
    std::optional<trace::StepRow> step;
  };
  struct Running {
    Gap gap;             // before what runs: a pass, or a fused forward and backward
    double exposed = 0;  // communication in that
    double in_pass = 0;  // and in what runs, alone
    double in_pair = 0;  // or as the first of two that run as one
    std::optional<std::uint32_t> gap_after;  // whose pass ended before that gap
    double end = 0;                          // of the last pass
    double released = 0;                     // likewise
    double step_end = 0;
    double covered_by_steps = 0;  // of what is exposed in gaps, less what steps leave open
    std::uint32_t iteration = 0;  // of the last pass
    int chunks_in_flight = 0;
    int peak_chunks_in_flight = 0;
    std::array<std::uint64_t, trace::memory_categories> held{};  // bytes
    std::map<std::uint32_t, Between> between;                    // by iteration
  };
  static void keep_between(Running& running);
  static void cut_by_step(Running& running, Between& between);
  TimeParts parts_of(std::size_t device);

  Summary summary_;
  std::vector<Running> running_;
  std::vector<trace::PassCollectiveRow> pass_collectives_;
  std::vector<bool> recomputed_;                                  // by stage
  std::vector<std::array<double, trace::pass_kinds>> in_passes_;  // likewise, exposed seconds
  std::vector<std::array<double, trace::pass_kinds>> in_pairs_;   // of each of two that run as one
};

Summary summarize(const trace::Trace& trace);

bool fits(const Summary& summary);                     // on all devices that say what they have
double exposed_communication(const Summary& summary);  // seconds, of the device that has most of it
TimeParts mean_parts(const Summary& summary);          // over devices, of an iteration
std::uint64_t gpus(const trace::RunInfo& run);

}  // namespace pipewright::analysis
