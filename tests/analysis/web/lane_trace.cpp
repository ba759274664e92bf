#include "tests/analysis/web/lane_trace.hpp"

#include <algorithm>

#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"

namespace pipewright::analysis::test {
namespace {

using trace::CollectiveKind;
using trace::PassKind;
using trace::TrafficClass;
using trace::TransferKind;

constexpr double hop_s = 0.2e-3;

void add_transfers(trace::Trace& trace) {
  for (const trace::PassRow& pass : trace.passes) {
    const bool forward = pass.kind == PassKind::forward;
    if (pass.device == (forward ? 0 : trace.run.devices - 1)) continue;
    const std::uint32_t source = forward ? pass.device - 1 : pass.device + 1;
    const bool last = pass.device + 1 == trace.run.devices;
    const double start = last ? pass.sent + hop_s / 2 : pass.sent;
    trace.transfers.push_back({source, pass.device, source, pass.microbatch,
                               forward ? TransferKind::activation : TransferKind::gradient,
                               (std::uint64_t{24} << 20) + pass.device, pass.sent, start,
                               pass.ready});
  }
  std::reverse(trace.transfers.begin(), trace.transfers.end());  // rows have no defined order
}

void add_steps(trace::Trace& trace) {
  std::vector<double> end(trace.run.devices);
  for (const trace::PassRow& pass : trace.passes)
    end[pass.device] = std::max(end[pass.device], pass.end);
  constexpr double reduction_s = 1e-3;
  constexpr double norm_s = 0.2e-3;
  const double all = *std::max_element(end.begin(), end.end()) + reduction_s + norm_s;
  for (std::uint32_t d = 0; d < trace.run.devices; ++d) {
    const double updated = all + 0.5e-3;
    trace.steps.push_back({d, 0, end[d], end[d] + reduction_s, all, updated, updated + 0.3e-3, 0});
    trace.collectives.push_back(
        {d, d, 0, CollectiveKind::reduce_gradients, 3 << 20, end[d], end[d], end[d] + reduction_s});
    trace.collectives.push_back(
        {d, d, 0, CollectiveKind::gather_weights, 1 << 20, updated, updated, updated + 0.3e-3});
  }
}

void add_paths(trace::Trace& trace) {
  for (std::uint32_t d = 0; d + 1 < trace.run.devices; ++d) {
    trace.links.push_back({d, "cable-" + std::to_string(d), "cable", 1, 100e9});
    trace.paths.push_back({TrafficClass::activation, d, d + 1, 0, d, 0.15e-3});
    trace.paths.push_back({TrafficClass::gradient, d + 1, d, 0, d, 0.15e-3});
  }
}

}  // namespace

trace::Trace lane_trace(std::uint32_t microbatches, std::uint32_t devices) {
  trace::Trace trace =
      one_f_one_b_trace({.devices = devices, .microbatches = microbatches, .hop_s = hop_s});
  for (trace::StageRow& stage : trace.stages) {
    stage.waits_f = 0.1e-3;
    stage.waits_b = 0.25e-3;
  }
  for (std::uint32_t d = 0; d < devices; ++d) {
    const double waited = trace.stages.at(d).waits_f + trace.stages.at(d).waits_b;
    trace.pass_collectives.push_back({d, "tp", "all-reduce", 4ULL * microbatches,
                                      microbatches << 20U, 1.5 * waited * microbatches,
                                      waited * microbatches});
  }
  add_transfers(trace);
  add_steps(trace);
  add_paths(trace);
  return trace;
}

}  // namespace pipewright::analysis::test
