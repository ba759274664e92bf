#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/families.hpp"
#include "schedules/families/programs.hpp"

namespace pipewright::schedules {
namespace {

using Op = Script::Op;

constexpr Op forward(std::uint32_t chunk) { return {PassKind::forward, chunk}; }
constexpr Op backward(std::uint32_t chunk) { return {PassKind::backward, chunk}; }

// Returns a fused pair: the forward of a microbatch on a chunk and the backward of another
// microbatch on the other chunk.
std::vector<Op> fused_pair(std::uint32_t forward_chunk) {
  return {{PassKind::forward, forward_chunk, true}, backward(1 - forward_chunk)};
}

// Writes I passes and holds back their W passes, which are written later in the same order.
class WeightQueue {
 public:
  explicit WeightQueue(Script& script) : script_(&script) {}
  void input_grad(std::uint32_t chunk) {
    script_->run(1, {{PassKind::input_grad, chunk}});
    waiting_.push_back(chunk);
  }
  void weight_grad() {
    script_->run(1, {{PassKind::weight_grad, waiting_.front()}});
    waiting_.pop_front();
  }

 private:
  Script* script_;
  std::deque<std::uint32_t> waiting_;  // Chunks of the delayed W passes.
};

// Writes the program of device r of p in the V for m microbatches; a microbatch visits chunk 0
// first. The eight phases are those of DeepSeek's dualpipev.py.
void write_program(Script& script, std::uint32_t r, std::uint32_t p, std::uint32_t m) {
  WeightQueue queue(script);
  script.run(2 * (p - r - 1), {forward(0)});
  script.run(r + 1, {forward(0), forward(1)});
  script.run(p - r - 1, {{PassKind::input_grad, 1}, {PassKind::weight_grad, 1}, forward(1)});

  std::vector<Op> crossing = fused_pair(0);
  for (const Op& op : fused_pair(1)) crossing.push_back(op);
  std::uint32_t crossings = m - 2 * p + r + 1;
  if (r == p - 1) {  // The first backward of the last device has no other forward to pair with.
    script.run(1, {forward(0), backward(1)});
    script.run(1, fused_pair(1));
    --crossings;
  }
  script.run(crossings, crossing);

  for (std::uint32_t i = 0; i < p - r - 1; ++i) {
    script.run(1, {backward(1)});
    script.run(1, fused_pair(1));
  }
  const std::uint32_t full = r + 1;  // Whole backwards before the phase that delays W.
  for (std::uint32_t i = 0; i < 2 * (r + 1); ++i) {
    const std::uint32_t chunk = 1 - i % 2;
    if (i < full)
      script.run(1, {backward(chunk)});
    else
      queue.input_grad(chunk);
  }
  for (std::uint32_t i = 0; i < p - r - 1; ++i) {
    queue.weight_grad();
    queue.input_grad(0);
  }
  for (std::uint32_t i = 0; i < r + 1; ++i) queue.weight_grad();
}

void check_both_even(std::uint32_t devices, std::uint32_t microbatches) {
  if (devices % 2 == 0 && microbatches % 2 == 0 && microbatches >= 2 * devices) return;
  std::set<std::string> near;
  for (const std::uint32_t p : {std::max(devices - devices % 2, 2U), devices + devices % 2})
    for (const std::uint32_t m : {microbatches - microbatches % 2, microbatches + microbatches % 2})
      near.insert(fmt::format("{} devices with {} microbatches", p, std::max(m, 2 * p)));
  throw Error(
      fmt::format("dualpipe: devices and microbatches must be even, for two directions, with at "
                  "least twice as many microbatches as devices, not {} and {}; {} work",
                  devices, microbatches, fmt::join(near, " or ")));
}

}  // namespace

// DualPipeV (DeepSeek-AI 2025, github.com/deepseek-ai/DualPipe): DualPipe cut in half, with the
// time of DualPipe on 2p devices with 2m microbatches; (2p+1)/2 microbatches in flight.
Schedule dualpipe_v(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  if (parameters.microbatches < 2 * devices)
    throw Error(fmt::format("dualpipe-v: {} devices need at least {} microbatches, not {}", devices,
                            2 * devices, parameters.microbatches));
  const auto one_device = [&](std::uint32_t r) {
    Script script({Script::Chunk{static_cast<std::uint16_t>(r), 0},
                   Script::Chunk{static_cast<std::uint16_t>(2 * devices - 1 - r), 0}},
                  1);
    write_program(script, r, devices, parameters.microbatches);
    return script.finish();
  };
  return with_requested_fusion(
      with_programs(without_programs("dualpipe-v", parameters, Routes::v_shape(devices)),
                    one_device),
      parameters);
}

// DualPipe (DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.1): microbatches enter at both ends, so
// that each device holds two stages, and a forward of one direction is fused with a backward of the
// other. With F = I = W = 1 for a chunk and FB for a fused pair, the makespan is (m - p/2 - 2) FB +
// 5p/2 + 4; p+1 microbatches are in flight.
Schedule dualpipe(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  check_both_even(devices, parameters.microbatches);
  const auto one_device = [&](std::uint32_t r) {
    // Each device first runs microbatches that enter at the end nearer to it. Even microbatches
    // enter at device 0, odd ones at the last device.
    const std::uint32_t near = r < devices / 2 ? 0 : 1;
    const std::uint32_t depth = std::min(r, devices - 1 - r);
    Script script({Script::Chunk{static_cast<std::uint16_t>(depth), near},
                   Script::Chunk{static_cast<std::uint16_t>(devices - 1 - depth), 1 - near}},
                  2);
    write_program(script, depth, devices / 2, parameters.microbatches / 2);
    return script.finish();
  };
  Schedule schedule = without_programs("dualpipe", parameters, Routes::both_ways(devices));
  schedule.chunks = 2;  // One for each direction.
  return with_requested_fusion(with_programs(std::move(schedule), one_device), parameters);
}

}  // namespace pipewright::schedules
