#include "tests/analysis/report/picture/fused_trace.hpp"

namespace pipewright::analysis::test {

using trace::PassKind;

trace::Trace fused_trace() {
  constexpr std::uint32_t microbatches = 12;
  trace::Trace trace;
  trace.run.schedule = "fused";
  trace.run.engine = "timing";
  trace.run.p2p = "eager";
  trace.run.network = "ideal network";
  trace.run.devices = 2;
  trace.run.chunks = 2;
  trace.run.microbatches = microbatches;
  for (std::uint32_t stage = 0; stage < 4; ++stage)
    trace.stages.push_back({stage, stage / 2, stage < 2 ? stage : 3 - stage, stage / 2});
  for (std::uint32_t device = 0; device < 2; ++device) {
    trace.devices.push_back({device, "", 0});
    trace.memory.push_back({device, trace::MemoryCategory::weights, 0, std::uint64_t{1} << 30});
    double now = device * 1e-3;
    const auto add = [&](PassKind kind, std::uint32_t chunk, std::uint32_t microbatch, double s) {
      const std::uint32_t stage = chunk == 0 ? device : 3 - device;
      trace::PassRow pass{device, stage, chunk, microbatch, 0, kind};
      pass.sent = pass.ready = pass.start = now;
      pass.end = pass.released = now + s;
      trace.passes.push_back(pass);
    };
    const auto run = [&](PassKind kind, std::uint32_t chunk, std::uint32_t microbatch, double s) {
      add(kind, chunk, microbatch, s);
      now += s;
    };
    const auto fuse = [&](std::uint32_t chunk, std::uint32_t forward, std::uint32_t backward) {
      add(PassKind::forward, chunk, forward, 2.4e-3);
      add(PassKind::backward, 1 - chunk, backward, 2.4e-3);
      now += 2.4e-3;
    };
    for (std::uint32_t k = 0; k < 2; ++k) run(PassKind::forward, 0, k, 1e-3);
    for (std::uint32_t k = 2; k < microbatches; ++k) fuse(k % 2, k, k - 2);
    for (std::uint32_t k = 10; k < microbatches; ++k) {
      run(PassKind::recompute, 1, k, 1e-3);
      run(PassKind::input_grad, 1, k, 1e-3);
      run(PassKind::weight_grad, 1, k, 1e-3);
    }
  }
  return trace;
}

}  // namespace pipewright::analysis::test
