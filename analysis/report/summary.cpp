#include "analysis/report/summary.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

double length(double from, double to) { return std::max(0.0, to - from); }

// Returns the seconds of a gap after `now` in which the device waits for communication: for its
// next input in the network, or for its own previous send.
double exposed_in(const Gap& gap, double now) {
  double exposed = 0;
  cut_gap(gap, [&](IdleCause cause, double end, std::size_t) {
    if (end <= now) return;
    if (cause != IdleCause::input) exposed += end - now;
    now = end;
  });
  return exposed;
}

}  // namespace

void SummarySink::begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
                        const std::vector<trace::StageRow>& stages) {
  summary_ = {};
  last_wait_s_ = 0;
  pass_collectives_.clear();
  summary_.run = run;
  summary_.devices.resize(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    summary_.devices[i].device = devices[i].device;
    summary_.devices[i].host = devices[i].host;
    summary_.devices[i].memory_capacity_bytes = devices[i].memory_capacity;
  }
  running_.assign(devices.size(), {});
  recomputed_.assign(std::size_t{run.devices} * run.chunks, false);
  std::uint32_t count = 0;
  for (const trace::StageRow& stage : stages) {
    count = std::max(count, stage.stage + 1);
    recomputed_.at(stage.stage) = stage.recomputed != 0;
  }
  if (count > 0) recomputed_.resize(count);
  in_passes_.assign(recomputed_.size(), {});
  in_pairs_ = in_passes_;
  for (const trace::StageRow& stage : stages) {
    in_passes_[stage.stage] = stage.exposed_in_passes();
    in_pairs_[stage.stage] = stage.exposed_in_pairs();
  }
}

void SummarySink::pass(const trace::PassRow& row) {
  DeviceSummary& device = summary_.devices.at(row.device);
  Running& running = running_[row.device];
  if (device.passes++ == 0) device.start_s = row.start;
  device.end_s = std::max(device.end_s, row.end);
  Gap& gap = running.gap;
  const bool is_fused = device.passes > 1 && row.start == gap.end && row.end == running.end;
  const Gap::Input input{row.sent, row.ready};
  if (is_fused) {
    gap.inputs[1] = input;
    gap.number_inputs = 2;
  } else {
    store_gap(running);
    device.busy_s += row.end - row.start;
    gap = {running.end, running.released, row.start, {input, {}}, 1};
    running.exposed = 0;
  }
  const double exposed = gap.end > gap.start ? exposed_in(gap, gap.start) : 0;
  device.parts.p2p += length(running.exposed, exposed);
  running.exposed = exposed;
  const auto kind = static_cast<std::size_t>(row.kind);
  if (is_fused) {  // the first pass of the pair was counted as a single pass
    device.parts.in_passes += running.in_pair - running.in_pass + in_pairs_.at(row.stage)[kind];
  } else {
    running.in_pass = in_passes_.at(row.stage)[kind];
    running.in_pair = in_pairs_.at(row.stage)[kind];
    device.parts.in_passes += running.in_pass;
  }
  if (row.iteration != running.iteration) {
    running.gap_after = running.iteration;
    running.iteration = row.iteration;
  }
  running.end = row.end;
  running.released = row.released;

  if (row.kind == (recomputed_.at(row.stage) ? PassKind::recompute : PassKind::forward)) {
    running.peak_chunks_in_flight =
        std::max(running.peak_chunks_in_flight, ++running.chunks_in_flight);
  } else if (row.kind == PassKind::backward || row.kind == PassKind::weight_grad) {
    --running.chunks_in_flight;
  }
}

void SummarySink::memory(const trace::MemoryRow& row) {
  Running& running = running_.at(row.device);
  running.held.at(static_cast<std::size_t>(row.category)) = row.bytes;
  const auto total = std::accumulate(running.held.begin(), running.held.end(), std::uint64_t{0});
  DeviceSummary& device = summary_.devices[row.device];
  if (!device.over_since_s && device.memory_capacity_bytes > 0 &&
      total > device.memory_capacity_bytes)
    device.over_since_s = row.time;
  if (total <= device.peak_memory_bytes) return;
  device.peak_memory_bytes = total;
  device.at_peak = running.held;
  device.peak_time_s = row.time;
}

void SummarySink::collective(const trace::CollectiveRow& row) {
  if (row.kind == trace::CollectiveKind::gather_weights) return;
  running_.at(row.device)
      .between[row.iteration]
      .reductions.push_back(
          {row.start, row.end, row.stage, row.kind == trace::CollectiveKind::tie_embeddings});
}

void SummarySink::step(const trace::StepRow& row) {
  DeviceSummary& device = summary_.devices.at(row.device);
  Running& running = running_[row.device];
  Between& between = running.between[row.iteration];
  double now = row.start;
  cut_step(row, between.reductions, [&](IdleCause cause, double end, const Reduction*) {
    if (end <= now) return;
    if (cause == IdleCause::gradients || cause == IdleCause::embeddings)
      device.parts.gradients += end - now;
    now = end;
  });
  between.reductions = {};
  between.step = row;
  device.parts.weights += length(row.updated, row.end) + row.gathering;
  device.parts.optimizer += length(row.synchronized, row.updated);
  running.step_end = std::max(running.step_end, row.end);
}

// Stores the gap before the current pass (or fused pair) with the iteration that ended before it,
// if one did.
void SummarySink::store_gap(Running& running) {
  if (running.gap_after) running.between[*running.gap_after].gap = running.gap;
  running.gap_after.reset();
}

// Subtracts the communication that an optimizer step hides: a wait during the step is not exposed,
// except for the send before the step.
void SummarySink::subtract_step(Running& running, Between& between) {
  if (!between.step) return;
  const trace::StepRow& step = *between.step;
  const double rounding = 1e-9 * step.end;
  if (between.gap && step.start >= between.gap->start - rounding &&
      step.end <= between.gap->end + rounding) {
    const Gap& gap = *between.gap;
    const double sending = length(gap.start, std::min(gap.released, step.start));
    running.covered_by_steps += exposed_in(gap, gap.start) - sending - exposed_in(gap, step.end);
  } else if (step.start >= running.end - rounding)  // the last step
    running.covered_by_steps -= length(running.end, std::min(running.released, step.start));
}

// Returns the parts of a device's time. What remains of the makespan is idle time.
TimeParts SummarySink::parts_of(std::size_t number) {
  const DeviceSummary& device = summary_.devices[number];
  Running& running = running_[number];
  store_gap(running);
  for (auto& [iteration, between] : running.between) subtract_step(running, between);
  TimeParts parts = device.parts;
  parts.p2p -= running.covered_by_steps;
  parts.in_passes = std::min(parts.in_passes, device.busy_s);
  parts.compute = device.busy_s - parts.in_passes;
  parts.idle = summary_.makespan_s - device.busy_s - parts.p2p - parts.gradients - parts.weights -
               parts.optimizer;
  return parts;
}

void SummarySink::finish() {
  // Share of a device's part of the model that one stage has, or one slice of a stage.
  const double share = static_cast<double>(summary_.devices.size()) /
                       static_cast<double>(std::max<std::size_t>(1, recomputed_.size())) /
                       std::max(1U, summary_.run.slices);
  summary_.makespan_s = last_wait_s_;
  for (std::size_t i = 0; i < summary_.devices.size(); ++i) {
    DeviceSummary& device = summary_.devices[i];
    device.peak_in_flight = running_[i].peak_chunks_in_flight * share;
    summary_.makespan_s = std::max({summary_.makespan_s, device.end_s, running_[i].step_end});
    summary_.span_bubble_s =
        std::max(summary_.span_bubble_s, device.end_s - device.start_s - device.busy_s);
  }
  for (std::size_t i = 0; i < summary_.devices.size(); ++i) summary_.devices[i].parts = parts_of(i);
  summary_.pass_collectives = over_devices(pass_collectives_);
  constexpr double rounding = 1e-12;  // of sums of times
  if (summary_.span_bubble_s < rounding * summary_.makespan_s) summary_.span_bubble_s = 0;
  set_rates(summary_);
}

void set_rates(Summary& summary) {
  if (summary.makespan_s <= 0) return;  // no passes, hence no ratios
  double busy = 0;
  for (const DeviceSummary& device : summary.devices) busy += device.busy_s;
  summary.bubble_ratio =
      1 - busy / (static_cast<double>(summary.devices.size()) * summary.makespan_s);

  const trace::RunInfo& run = summary.run;
  const double microbatches_per_s =
      static_cast<double>(run.microbatches) * run.iterations * run.replicas / summary.makespan_s;
  if (run.samples_per_microbatch > 0)
    summary.samples_per_s = run.samples_per_microbatch * microbatches_per_s;
  if (run.tokens_per_microbatch > 0)
    summary.tokens_per_s = run.tokens_per_microbatch * microbatches_per_s;
  if (run.model_flops <= 0) return;
  const double per_gpu = microbatches_per_s / static_cast<double>(gpus(run));
  summary.model_flops_per_gpu = run.model_flops * per_gpu;
  summary.full_attention_flops_per_gpu = run.full_attention_flops * per_gpu;
  if (run.peak_flops <= 0) return;
  summary.mfu = run.model_flops * per_gpu / run.peak_flops;
  if (run.precision_peak_flops > 0)
    summary.mfu_precision = run.model_flops * per_gpu / run.precision_peak_flops;
  summary.mfu_full_attention = run.full_attention_flops * per_gpu / run.peak_flops;
  summary.hfu = run.hardware_flops * per_gpu / run.peak_flops;
}

Summary summarize(const trace::Trace& trace) {
  SummarySink sink;
  trace::replay(trace, sink);
  return sink.summary();
}

bool fits(const Summary& summary) {
  return std::ranges::all_of(summary.devices, &DeviceSummary::fits);
}

double exposed_communication(const Summary& summary) {
  double longest = 0;
  for (const DeviceSummary& device : summary.devices)
    longest = std::max(longest, device.parts.exposed());
  return longest;
}

TimeParts mean_parts(const Summary& summary) {
  TimeParts mean;
  const double share =
      1 / (static_cast<double>(summary.devices.size()) * std::max(1U, summary.run.iterations));
  for (const DeviceSummary& device : summary.devices)
    for (double TimeParts::*part :
         {&TimeParts::compute, &TimeParts::in_passes, &TimeParts::p2p, &TimeParts::gradients,
          &TimeParts::weights, &TimeParts::optimizer, &TimeParts::idle})
      mean.*part += device.parts.*part * share;
  return mean;
}

std::uint64_t gpus(const trace::RunInfo& run) {
  return run.gpus > 0 ? run.gpus : std::uint64_t{run.devices} * run.ranks_per_stage * run.replicas;
}

std::vector<trace::Evidence> evidence_of(std::span<const Summary> runs) {
  std::vector<trace::Evidence> evidence;
  for (const Summary& run : runs) evidence.push_back(run.run.evidence);
  return evidence;
}

}  // namespace pipewright::analysis
