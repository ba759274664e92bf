#include "tests/analysis/web/full_trace.hpp"

#include <algorithm>
#include <string>

#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"

namespace pipewright::analysis::test {
namespace {

using trace::MemoryCategory;
using trace::TrafficClass;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
constexpr std::uint32_t pieces = 64;

void add_memory(trace::Trace& trace) {
  std::vector<trace::MemoryRow> rows;
  for (const trace::DeviceRow& device : trace.devices) {
    const std::uint32_t d = device.device;
    rows.push_back({d, MemoryCategory::gradients, 0, 5 * gib});
    rows.push_back({d, MemoryCategory::optimizer, 0, (20 + d) * gib});
    rows.push_back({d, MemoryCategory::buffers, 0, 3 * gib / 2});
    rows.push_back({d, MemoryCategory::allowance, 0, gib});
  }
  // Memory for recomputation exists only during backward passes.
  rows.insert(rows.end(), trace.memory.begin(), trace.memory.end());
  for (const trace::PassRow& pass : trace.passes) {
    if (pass.kind != trace::PassKind::backward) continue;
    rows.push_back({pass.device, MemoryCategory::working, pass.start, 2 * gib});
    rows.push_back({pass.device, MemoryCategory::working, pass.end, 0});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  trace.memory = std::move(rows);
  trace.devices[0].memory_capacity = 44 * gib;
}

void add_links(trace::Trace& trace, double end) {
  trace.links = {{0, "node-0-nvlink-0_UP", "nvlink", 1, 450e9},
                 {1, "node-0-nic-0_UP", "infiniband", 8, 50e9},
                 {2, "leaf-3_DOWN", "infiniband", 16, 50e9}};
  for (std::uint32_t link = 0; link < 2; ++link) {
    const double bandwidth = trace.links[link].bandwidth;
    for (std::uint32_t i = 0; i < pieces; ++i) {
      if (i % 8 == 7) continue;  // nothing happens
      const double start = end * i / pieces;
      const double stop = end * (i + 1) / pieces;
      const double full = bandwidth * (stop - start);
      const auto row = [&](TrafficClass traffic, double share, double flows, double waited) {
        trace.link_use.push_back({link, traffic, start, stop,
                                  static_cast<std::uint64_t>(share * full), flows * (stop - start),
                                  waited * (stop - start)});
      };
      row(TrafficClass::activation, 0.1 + 0.05 * (i % 8), 1.5, link == 0 && i % 4 == 2 ? 0.5 : 0);
      if (i % 2 == 0) row(TrafficClass::gradient, 0.25, 1, 0);
      if (i >= pieces / 2) row(TrafficClass::reduce_gradients, 0.2, 2, 0);
    }
  }
  trace.link_use.push_back({2, TrafficClass::gradient, 0, end, 1000 * 1000, end / 2, 0});
}

void add_transfers(trace::Trace& trace) {
  for (const trace::PassRow& pass : trace.passes)
    if (pass.kind == trace::PassKind::forward && pass.device > 0)
      trace.transfers.push_back({pass.device - 1, pass.device, pass.stage - 1, pass.microbatch,
                                 trace::TransferKind::activation, 64 << 20, pass.sent, pass.sent,
                                 pass.ready});
}

}  // namespace

trace::Trace full_trace(std::uint32_t microbatches) {
  trace::Trace trace = one_f_one_b_trace({.microbatches = microbatches});
  double end = 0;
  for (const trace::PassRow& pass : trace.passes) end = std::max(end, pass.end);
  add_memory(trace);
  add_links(trace, end);
  add_transfers(trace);
  trace.run.tokens_per_microbatch = 3 * 2048;
  trace.run.model_flops = 2e12;
  trace.run.full_attention_flops = 2.2e12;
  trace.run.hardware_flops = 2.5e12;
  trace.run.peak_flops = 989e12;
  return trace;
}

}  // namespace pipewright::analysis::test
