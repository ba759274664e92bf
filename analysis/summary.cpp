#include "analysis/summary.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "analysis/text_table.hpp"
#include "analysis/trace/sink.hpp"

namespace pipewright::analysis {
namespace {

using trace::PassKind;

double length(double from, double to) { return std::max(0.0, to - from); }

// How much of the gap before a pass is covered by the transfer of its input, [sent, ready], or by
// the blocking send of the pass before, which begins with the gap: the measure of their union.
double exposed(double gap_start, double send_end, const trace::PassRow& next) {
  const double send_until = std::clamp(send_end, gap_start, std::max(gap_start, next.start));
  const double input_from = std::max(next.sent, send_until);
  const double input_until = std::min(next.ready, next.start);
  return length(gap_start, send_until) + length(input_from, input_until);
}

}  // namespace

std::string describe(const JobInfo& job) {
  if (job.model.empty()) return "";
  std::string text = printable(job.model) + (job.gpu.empty() ? "" : " on " + printable(job.gpu));
  const auto add = [&](const char* name, std::uint64_t size, std::uint64_t usual) {
    if (size != usual) text += fmt::format(", {} {}", name, size);
  };
  add("tp", job.tp, 1);
  if (job.sequence_parallel && job.tp > 1) text += ", sp";
  add("cp", job.cp, 1);
  add("ep", job.ep, 1);
  add("pp", job.pp, 1);
  add("dp", job.dp, 1);
  add("zero", job.zero, 0);
  text += fmt::format(", batch {} of {} tokens", job.global_batch, job.sequence);
  add("microbatch", job.microbatch_size, 1);
  if (job.partition != "even") text += ", partition " + printable(job.partition);
  if (job.recompute != "none") text += ", recompute " + printable(job.recompute);
  return text;
}

void SummarySink::begin(const trace::RunInfo& run, const std::vector<trace::DeviceRow>& devices,
                        const std::vector<trace::StageRow>& stages) {
  summary_ = {};
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
  waits_.assign(recomputed_.size(), {});
  for (const trace::StageRow& stage : stages)
    waits_[stage.stage] = {stage.waits_f, stage.waits_i, stage.waits_w, stage.waits_b,
                           stage.waits_r};
}

void SummarySink::pass(const trace::PassRow& row) {
  DeviceSummary& device = summary_.devices.at(row.device);
  Running& running = running_[row.device];
  if (device.passes++ == 0) device.start_s = row.start;
  device.end_s = std::max(device.end_s, row.end);
  Pair& pair = running.pair;
  const bool fused =
      device.passes > 1 && row.start == pair.start && row.end == running.previous_end;
  if (!fused) {
    device.busy_s += row.end - row.start;
    pair = {row.start, running.previous_end, running.previous_released, 0};
  }
  // Two that run as one wait for the later of their inputs.
  const double waited = exposed(pair.gap_start, pair.send_end, row);
  device.exposed.p2p_s += length(pair.exposed, waited);
  device.exposed.in_passes_s += waits_.at(row.stage)[static_cast<std::size_t>(row.kind)];
  pair.exposed = std::max(pair.exposed, waited);
  running.previous_end = row.end;
  running.previous_released = row.released;

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
  running_.at(row.device).reductions[row.iteration].push_back({row.start, row.end});
}

// Until those are there that a collective is for, a device waits for their passes.
void SummarySink::step(const trace::StepRow& row) {
  DeviceSummary& device = summary_.devices.at(row.device);
  std::vector<Span> spans = std::move(running_[row.device].reductions[row.iteration]);
  running_[row.device].reductions.erase(row.iteration);
  if (spans.empty()) spans.push_back({row.start, row.reduced});  // the trace does not tell
  std::ranges::sort(spans, {}, &Span::start);
  double now = row.start;
  for (const Span& span : spans) {
    const double end = std::min(span.end, row.reduced);
    device.exposed.gradients_s += length(std::max(now, span.start), end);
    now = std::max(now, end);
  }
  device.exposed.weights_s += length(row.updated, row.end) + row.gathering;
  device.step_s += length(row.synchronized, row.updated);
  double& end = running_[row.device].step_end;
  end = std::max(end, row.end);
}

void SummarySink::finish() {
  double busy = 0;
  // A stage, or a slice's part of it, in microbatches of 1/devices of the model.
  const double share = static_cast<double>(summary_.devices.size()) /
                       static_cast<double>(std::max<std::size_t>(1, recomputed_.size())) /
                       std::max(1U, summary_.run.slices);
  for (std::size_t i = 0; i < summary_.devices.size(); ++i) {
    DeviceSummary& device = summary_.devices[i];
    device.peak_in_flight = running_[i].peak_chunks_in_flight * share;
    busy += device.busy_s;
    summary_.makespan_s = std::max({summary_.makespan_s, device.end_s, running_[i].step_end});
    summary_.span_bubble_s =
        std::max(summary_.span_bubble_s, device.end_s - device.start_s - device.busy_s);
  }
  if (summary_.makespan_s <= 0) return;  // no passes: nothing to divide by
  constexpr double rounding = 1e-12;     // of sums of times
  if (summary_.span_bubble_s < rounding * summary_.makespan_s) summary_.span_bubble_s = 0;
  summary_.bubble_ratio =
      1 - busy / (static_cast<double>(summary_.devices.size()) * summary_.makespan_s);

  const trace::RunInfo& run = summary_.run;
  const double microbatches_per_s =
      static_cast<double>(run.microbatches) * run.iterations * run.replicas / summary_.makespan_s;
  if (run.samples_per_microbatch > 0)
    summary_.samples_per_s = run.samples_per_microbatch * microbatches_per_s;
  if (run.tokens_per_microbatch > 0)
    summary_.tokens_per_s = run.tokens_per_microbatch * microbatches_per_s;
  if (run.model_flops <= 0) return;
  const double per_gpu = microbatches_per_s / static_cast<double>(gpus(run));
  summary_.model_flops_per_gpu = run.model_flops * per_gpu;
  if (run.peak_flops <= 0) return;
  summary_.mfu = run.model_flops * per_gpu / run.peak_flops;
  summary_.hfu = run.hardware_flops * per_gpu / run.peak_flops;
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
    longest = std::max(longest, device.exposed.total_s());
  return longest;
}

std::uint64_t gpus(const trace::RunInfo& run) {
  return std::uint64_t{run.devices} * run.lanes * run.replicas;
}

}  // namespace pipewright::analysis
