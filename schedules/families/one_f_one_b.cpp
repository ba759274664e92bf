#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/families/families.hpp"
#include "schedules/families/programs.hpp"
#include "schedules/families/vocabulary.hpp"

namespace pipewright::schedules {
namespace {

// Number of forwards before the first backward: as in 1F1B, or twice as many (eager 1F1B).
enum class Warmup : std::uint8_t { plain, eager };

std::uint32_t warmup_of(Warmup kind, std::uint32_t devices, std::uint32_t device) {
  const std::uint32_t behind = devices - 1 - device;
  return kind == Warmup::eager ? 2 * behind : behind;
}

// Returns the passes of one device: w forwards; then F(w+k) and B(k) in turn until all forwards
// have run; then the last w backwards.
Program one_device(std::uint16_t stage, std::uint32_t warmup, std::uint32_t microbatches,
                   bool fused = false) {
  const std::uint32_t w = std::min(warmup, microbatches);
  Program program;
  program.repeat(w, 1, {{PassKind::forward, stage, 0}});
  program.repeat(microbatches - w, 1,
                 {{PassKind::forward, stage, w, fused}, {PassKind::backward, stage, 0}});
  program.repeat(w, 1, {{PassKind::backward, stage, microbatches - w}});
  return program;
}

Schedule with_flush(std::string name, Warmup warmup, const Parameters& parameters) {
  return with_programs(
      without_programs(std::move(name), parameters, Routes::looped(parameters.devices, 1)),
      [&](std::uint32_t device) {
        return one_device(static_cast<std::uint16_t>(device),
                          warmup_of(warmup, parameters.devices, device), parameters.microbatches);
      });
}

// Makes 1F1B over the microbatches of all iterations, without a flush. The forwards of a warm-up
// use weights one version newer than the backwards around them, so an iteration must have at least
// as many microbatches as the longest warm-up; otherwise a third version would be needed.
Schedule without_flush(std::string name, Warmup warmup, const Parameters& parameters) {
  const std::uint32_t longest = warmup_of(warmup, parameters.devices, 0);
  if (parameters.microbatches < longest)
    throw Error(
        fmt::format("{}: {} devices need at least {} microbatches an iteration for two "
                    "weight versions to suffice, not {}",
                    name, parameters.devices, longest, parameters.microbatches));
  Schedule schedule =
      without_programs(std::move(name), parameters, Routes::looped(parameters.devices, 1));
  schedule.weight_versions = 2;
  for (std::uint16_t stage = 0; stage < parameters.devices; ++stage)
    schedule.programs.push_back(one_device(stage, warmup_of(warmup, parameters.devices, stage),
                                           schedule.total_microbatches()));
  return schedule;
}

}  // namespace

// PipeDream-Flush (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.1). Bubble (p-1)(F+B);
// min(p-r, m) microbatches in flight on device r. Each barrier of a split vocabulary (arXiv
// 2411.05288, figure 10) puts one more in flight. Fused pairs run on a
// single device only, as F0, (F1 B0), ..., B(m-1) (Megatron-LM's combined_1f1b.py without
// pipelining). On several devices, pairs of neighbours would wait for each other and half of the
// time would be lost.
Schedule one_f_one_b(const Parameters& parameters) {
  const std::uint32_t barriers = barriers_of("1f1b", parameters);
  if (barriers > 0) {
    if (parameters.fused.value_or(0) != 0)
      throw Error("1f1b: a split vocabulary and fused pairs exclude each other");
    Schedule schedule = without_programs("1f1b", parameters, Routes::looped(parameters.devices, 1));
    schedule.barriers = barriers;
    return with_programs(std::move(schedule), [&](std::uint32_t device) {
      return one_f_one_b_with_vocabulary(device, parameters);
    });
  }
  if (parameters.fused.value_or(0) == 0) return with_flush("1f1b", Warmup::plain, parameters);
  if (parameters.devices > 1)
    throw Error(fmt::format(
        "1f1b: fused pairs on {} devices need several chunks per device, as in Megatron-LM; "
        "use interleaved-1f1b with at least 2 chunks",
        parameters.devices));
  return with_programs(
      without_programs("1f1b", parameters, Routes::looped(1, 1)),
      [&](std::uint32_t) { return one_device(0, 1, parameters.microbatches, true); });
}

// Eager 1F1B (Zhuang et al. 2022, arXiv 2211.05322): the same bubble as 1F1B, with min(2(p-r)-1, m)
// microbatches in flight on device r; a transfer of an activation may take as long as F+B without
// delaying anything.
Schedule eager_one_f_one_b(const Parameters& parameters) {
  return with_flush("eager-1f1b", Warmup::eager, parameters);
}

// PipeDream-2BW (Narayanan et al. 2021, arXiv 2006.09503): 1F1B without a flush and with two weight
// versions; T iterations take (T m + p-1)(F+B).
Schedule one_f_one_b_2bw(const Parameters& parameters) {
  return without_flush("1f1b-2bw", Warmup::plain, parameters);
}

Schedule eager_2bw(const Parameters& parameters) {
  return without_flush("eager-2bw", Warmup::eager, parameters);
}

// Interlaced 1F1B (nnScaler, Lin et al., OSDI 2024; interlaced_schedule.py of
// sail-sg/VocabularyParallelism). All devices compute the output layer of a microbatch at the same
// time, for which half a pipeline of microbatches more than in 1F1B is in flight: min(floor(3p/2) -
// r, m) on device r. After the warm-up, device r runs backwards until it holds floor((p-1-r)/2)
// microbatches more than in 1F1B; then forwards and backwards alternate, and every second device
// begins with a backward. S and T of a microbatch run together: those of the first p-r microbatches
// after the warm-up, then one after each backward. Bubble (p-1)(F+B).
Schedule interlaced(const Parameters& parameters) {
  const std::uint32_t barriers = barriers_of("interlaced", parameters, 2);
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t microbatches = parameters.microbatches;
  Schedule schedule = without_programs("interlaced", parameters, Routes::looped(devices, 1));
  schedule.barriers = barriers;
  return with_programs(std::move(schedule), [&](std::uint32_t device) {
    const auto stage = static_cast<std::uint16_t>(device);
    const std::uint32_t warmup = std::min(3 * devices / 2 - device, microbatches);
    const std::uint32_t cooldown = std::min(devices - device, microbatches);
    const std::uint32_t half_distance = (devices - 1 - device) / 2;
    const std::uint32_t ahead = warmup - cooldown;
    const std::uint32_t waiting = ahead - std::min(ahead, half_distance);
    const Pass forward{PassKind::forward, stage, warmup};
    const Pass backward{PassKind::backward, stage, waiting};
    const bool begins_with_forward = device % 2 == devices % 2;
    const auto with_output = [&](std::vector<Pass> body, std::uint32_t microbatch) {
      if (barriers > 0) add_vocabulary_after(body, stage, microbatch);
      return body;
    };
    Program program;
    program.repeat(warmup, 1, {{PassKind::forward, stage, 0}});
    program.repeat(cooldown, 1, with_output({}, 0));
    program.repeat(waiting, 1, with_output({{PassKind::backward, stage, 0}}, cooldown));
    program.repeat(microbatches - warmup, 1,
                   with_output(begins_with_forward ? std::vector{forward, backward}
                                                   : std::vector{backward, forward},
                               cooldown + waiting));
    const std::uint32_t rest = microbatches - warmup + waiting;
    program.repeat(warmup - cooldown - waiting, 1,
                   with_output({{PassKind::backward, stage, rest}}, cooldown + rest));
    program.repeat(cooldown, 1, {{PassKind::backward, stage, microbatches - cooldown}});
    return program;
  });
}

}  // namespace pipewright::schedules
