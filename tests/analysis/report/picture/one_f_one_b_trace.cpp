#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace pipewright::analysis::test {
namespace {

using trace::PassKind;

struct Step {
  PassKind kind;
  std::uint32_t microbatch;
};

std::vector<Step> steps(const Shape& shape, std::uint32_t device) {
  std::vector<Step> list;
  std::uint32_t forwards = 0;
  std::uint32_t backwards = 0;
  const std::uint32_t warm_up = std::min(shape.devices - device, shape.microbatches);
  while (backwards < shape.microbatches) {
    if (forwards < shape.microbatches && forwards < backwards + warm_up) {
      list.push_back({PassKind::forward, forwards++});
      continue;
    }
    if (shape.split_backward) {
      list.push_back({PassKind::input_grad, backwards});
      list.push_back({PassKind::weight_grad, backwards});
    } else {
      list.push_back({PassKind::backward, backwards});
    }
    ++backwards;
  }
  return list;
}

class Simulation {
 public:
  explicit Simulation(const Shape& shape)
      : shape_(shape), steps_(shape.devices), next_(shape.devices), free_(shape.devices) {
    const std::vector<double> unsent(shape.microbatches, -1);
    activations_.assign(shape.devices + 1, unsent);
    gradients_.assign(shape.devices + 1, unsent);
    activations_[0].assign(shape.microbatches, 0);
    for (std::uint32_t d = 0; d < shape.devices; ++d) steps_[d] = steps(shape, d);
  }

  void run(trace::Trace& trace) {
    for (bool has_progress = true; has_progress;) {
      has_progress = false;
      for (std::uint32_t device = 0; device < shape_.devices; ++device)
        while (next_[device] < steps_[device].size() && advance(device, trace)) has_progress = true;
    }
  }

 private:
  bool advance(std::uint32_t device, trace::Trace& trace) {
    const auto [kind, microbatch] = steps_[device][next_[device]];
    const bool is_forward = kind == PassKind::forward;
    const bool is_last = device + 1 == shape_.devices;
    const double sent = is_forward                      ? activations_[device][microbatch]
                        : kind == PassKind::weight_grad ? free_[device]
                                                        : gradients_[device + 1][microbatch];
    if (sent < 0) return false;
    const bool is_local = kind == PassKind::weight_grad || (is_forward ? device == 0 : is_last);
    trace::PassRow pass{device, device, 0, microbatch, 0, kind};
    pass.sent = sent;
    pass.ready = sent + (is_local ? 0 : shape_.hop_s);
    pass.start = std::max(free_[device], pass.ready);
    pass.end = pass.start + duration(kind);
    const bool sends = is_forward ? !is_last : device > 0 && kind != PassKind::weight_grad;
    pass.released = pass.end + (sends ? shape_.blocked_s : 0);
    free_[device] = pass.released;
    if (is_forward) {
      activations_[device + 1][microbatch] = pass.end;
      if (is_last) gradients_[device + 1][microbatch] = pass.end;
    } else if (kind != PassKind::weight_grad) {
      gradients_[device][microbatch] = pass.end;
    }
    trace.passes.push_back(pass);
    if (is_forward)
      record(device, pass.start, held_bytes(device) + activation_bytes, trace);
    else if (kind != PassKind::input_grad)
      record(device, pass.end, held_bytes(device) - activation_bytes, trace);
    ++next_[device];
    return true;
  }

  double duration(PassKind kind) const {
    if (kind == PassKind::forward) return shape_.forward_s;
    return kind == PassKind::backward ? shape_.backward_s : shape_.backward_s / 2;
  }
  static constexpr std::uint64_t activation_bytes = std::uint64_t{3} << 29;
  std::uint64_t& held_bytes(std::uint32_t device) {
    bytes_.resize(shape_.devices);
    return bytes_[device];
  }
  void record(std::uint32_t device, double time, std::uint64_t bytes, trace::Trace& trace) {
    held_bytes(device) = bytes;
    trace.memory.push_back({device, trace::MemoryCategory::activations, time, bytes});
  }

  Shape shape_;
  std::vector<std::vector<Step>> steps_;
  std::vector<std::size_t> next_;
  std::vector<double> free_;
  std::vector<std::vector<double>> activations_;
  std::vector<std::vector<double>> gradients_;
  std::vector<std::uint64_t> bytes_;
};

}  // namespace

trace::Trace one_f_one_b_trace(const Shape& shape) {
  trace::Trace trace;
  trace.run.schedule = "1f1b";
  trace.run.engine = "timing";
  trace.run.p2p = shape.blocked_s > 0 ? "blocking" : "eager";
  trace.run.network = "ideal network, 20 us a hop";
  trace.run.scenario = "devices: " + std::to_string(shape.devices) + "\nschedule: 1f1b\n";
  trace.run.versions = "pipewright";
  trace.run.devices = shape.devices;
  trace.run.microbatches = shape.microbatches;
  trace.run.samples_per_microbatch = 3;
  for (std::uint32_t d = 0; d < shape.devices; ++d) {
    const std::string host = "node-" + std::to_string(d / 8) + "-gpu-" + std::to_string(d % 8);
    trace.devices.push_back({d, host, std::uint64_t{80} << 30});
    trace.stages.push_back({d, 0, d});
    trace.memory.push_back(
        {d, trace::MemoryCategory::weights, 0, (std::uint64_t{12} << 30) + (d << 26)});
  }
  Simulation(shape).run(trace);
  return trace;
}

}  // namespace pipewright::analysis::test
