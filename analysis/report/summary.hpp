#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/report/idle_time.hpp"
#include "analysis/report/job.hpp"
#include "analysis/report/pass_collectives.hpp"
#include "analysis/trace/rows.hpp"
#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {

// Parts of a device's time, in seconds that add up to the makespan. All parts except compute, the
// optimizer step and idle time are exposed communication: the device waits for it.
struct TimeParts {
  double compute = 0;    // passes, without their collectives
  double in_passes = 0;  // tensor, context and expert collectives
  double p2p = 0;        // transfers of the next input, and sends that block the device
  double gradients = 0;  // data-parallel reduction and tied embeddings, once all ranks are ready
  double weights = 0;    // gathering of sharded weights
  double optimizer = 0;
  double idle = 0;  // bubble and all other waits

  double exposed() const { return p2p + in_passes + gradients + weights; }
};

// Figures of one device: times and memory. analysis/metrics.md has the definitions and formulas.
struct DeviceSummary {
  std::uint32_t device = 0;
  std::string host;
  std::uint64_t passes = 0;
  double busy_s = 0;   // sum of the durations of its passes
  double start_s = 0;  // start of its first pass
  double end_s = 0;    // end of its last pass
  TimeParts parts;
  double peak_in_flight = 0;            // microbatches; a chunk counts 1/chunks
  std::uint64_t peak_memory_bytes = 0;  // sum over all categories
  std::array<std::uint64_t, trace::memory_categories> at_peak{};  // bytes of each category then
  double peak_time_s = 0;                                         // first time of the peak
  std::uint64_t memory_capacity_bytes = 0;                        // 0: unknown
  std::string memory_host;             // host of the GPU with this capacity, unless it is `host`
  std::optional<double> over_since_s;  // first time above the capacity

  // Peak without the allowance for driver, NCCL and fragmentation: PyTorch's max_memory_allocated.
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

// Figures that summarize one run. Times are seconds from the start of the run.
struct Summary {
  trace::RunInfo run;
  std::optional<JobInfo> job;  // empty for a run read from a trace
  double makespan_s = 0;       // latest end over devices, including their optimizer steps
  double bubble_ratio = 0;     // 1 - busy / (devices * makespan)
  double span_bubble_s = 0;    // max over devices of (last end - first start - busy)
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  // FLOP/s of forward and backward without recomputation, and their fraction of the GPU's peak.
  // Causal attention counts half of the score matrix; the figures of full attention count all of
  // it.
  std::optional<double> model_flops_per_gpu;
  std::optional<double> mfu;
  std::optional<double> full_attention_flops_per_gpu;
  std::optional<double> mfu_full_attention;
  std::optional<double> mfu_precision;  // MFU relative to the peak of the recipe's data type
  std::optional<double> hfu;            // MFU including recomputation
  std::vector<DeviceSummary> devices;
  std::vector<PassCollectives> pass_collectives;
};

// Sets the bubble ratio and all rates from the makespan, the run and the times of the devices.
void set_rates(Summary& summary);

// Computes a summary while it receives the rows of a trace. Memory does not grow with their number.
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
  // Events of other replicas that end after those of the trace's replica lengthen the makespan.
  void wait(const trace::WaitRow& row) override { last_wait_s_ = std::max(last_wait_s_, row.time); }
  void finish() override;

  const Summary& summary() const { return summary_; }

 private:
  // The gap after the last pass of an iteration, which the optimizer step splits. Steps come after
  // all passes in a file, and before the next pass from an engine.
  struct Between {
    std::vector<Reduction> reductions;
    std::optional<Gap> gap;  // the last one so far: passes of overlapping iterations alternate
    std::optional<trace::StepRow> step;
  };
  // State of a device. Its current unit is a pass, or a fused pair of a forward and a backward.
  struct Running {
    Gap gap;             // before the current unit
    double exposed = 0;  // communication in that gap
    double in_pass = 0;  // exposed communication of the current pass if it runs alone
    double in_pair = 0;  // exposed communication of the current pass if a fused pair begins with it
    std::optional<std::uint32_t> gap_after;  // iteration that ended before the gap, if one did
    double end = 0;                          // end of the last pass
    double released = 0;                     // release of the device by the last pass
    double step_end = 0;
    double covered_by_steps = 0;  // communication counted in gaps that steps cover, in seconds
    std::uint32_t iteration = 0;  // iteration of the last pass
    int chunks_in_flight = 0;
    int peak_chunks_in_flight = 0;
    std::array<std::uint64_t, trace::memory_categories> held{};  // bytes
    std::map<std::uint32_t, Between> between;                    // by the iteration before
  };
  static void store_gap(Running& running);
  static void subtract_step(Running& running, Between& between);
  TimeParts parts_of(std::size_t device);

  Summary summary_;
  double last_wait_s_ = 0;
  std::vector<Running> running_;
  std::vector<trace::PassCollectiveRow> pass_collectives_;
  std::vector<bool> recomputed_;                                  // by stage
  std::vector<std::array<double, trace::pass_kinds>> in_passes_;  // exposed seconds by stage
  // exposed seconds of fused passes by stage
  std::vector<std::array<double, trace::pass_kinds>> in_pairs_;
};

Summary summarize(const trace::Trace& trace);

bool fits(const Summary& summary);                     // on every device of known capacity
double exposed_communication(const Summary& summary);  // seconds, maximum over devices
TimeParts mean_parts(const Summary& summary);          // parts of an iteration, mean over devices
std::uint64_t gpus(const trace::RunInfo& run);
std::vector<trace::Evidence> evidence_of(std::span<const Summary> runs);

}  // namespace pipewright::analysis
