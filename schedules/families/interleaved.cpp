#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "schedules/families/families.hpp"
#include "schedules/families/programs.hpp"

namespace pipewright::schedules {
namespace {

// Position of a device in the pipeline, from which the length of its warm-up follows.
struct PipelinePosition {
  std::uint32_t before = 0;          // Number of devices before it.
  std::uint32_t after = 0;           // Number of devices after it.
  std::uint32_t earlier_chunks = 0;  // Forwards of the first group on all its chunks but the last.
  std::uint32_t slices = 1;          // Slices of a microbatch.
};

using PaceOf = Pace (*)(const PipelinePosition& position);

// Returns true if groups of this size can be used: the size is between the number of microbatches
// that fill the devices and that of the iteration, and the last group fills the devices too; a
// smaller one would stall the loop around the devices.
bool fits(std::uint32_t microbatches, std::uint32_t group, std::uint32_t filling) {
  const std::uint32_t rest = microbatches % group;
  return group >= filling && group <= microbatches && (rest == 0 || rest >= filling);
}

// Returns the smallest usable group size, or all microbatches if they do not fill the devices.
std::uint32_t default_group(std::uint32_t microbatches, std::uint32_t filling) {
  std::uint32_t group = std::min(filling, microbatches);
  while (group < microbatches && !fits(microbatches, group, filling)) ++group;
  return group;
}

// Throws an Error unless groups of this size can be used. `filling` is the number of microbatches
// whose slices are as many as the devices.
void check_group(std::string_view name, std::uint32_t microbatches, std::uint32_t group,
                 std::uint32_t filling, std::uint32_t devices) {
  if (group == default_group(microbatches, filling) || fits(microbatches, group, filling)) return;
  const char* reason = group < filling        ? "a group smaller than the pipeline deadlocks"
                       : group > microbatches ? "a group cannot be larger than the iteration"
                                              : "the last group is smaller than the pipeline";
  throw Error(fmt::format(
      "{}: group size {} with {} devices and {} microbatches: {}; group size {} works", name, group,
      devices, microbatches, reason, default_group(microbatches, filling)));
}

// Order of the passes that all devices share: groups of g microbatches; within a group chunk by
// chunk, within a chunk microbatch by microbatch (Megatron-LM get_schedule_table). Microbatches are
// counted in slices if they are cut, and the gradients of a microbatch's slices come in reverse.
struct Table {
  std::uint32_t microbatches, group, chunks, slices, devices, device;

  Pass entry(std::uint32_t e, PassKind kind) const {
    const std::uint32_t first = e / (group * chunks) * group;  // First microbatch of this group.
    const std::uint32_t size = std::min(group, microbatches - first);
    const std::uint32_t within = e - first * chunks;
    std::uint32_t chunk = within / size;
    std::uint32_t microbatch = first + within % size;
    if (kind != PassKind::forward) {
      chunk = chunks - 1 - chunk;
      microbatch += slices - 1 - 2 * (microbatch % slices);
    }
    return {kind, static_cast<std::uint16_t>(chunk * devices + device), microbatch};
  }
};

EntryOrder order_of(const Table& table) {
  return {.entries = table.microbatches * table.chunks,
          .regular = table.microbatches / table.group * table.group * table.chunks,
          .period = table.group * table.chunks,
          .microbatches_a_period = table.group,
          .pass = [table](std::uint32_t e, PassKind kind) { return table.entry(e, kind); }};
}

// Makes a schedule of the looped placement in which groups of microbatches visit chunk after chunk.
// The pace of each device determines the order of its passes. The default group is the smallest
// that fits. Throws Error for a group that would deadlock or stall.
Schedule in_groups(std::string name, const Parameters& parameters, std::uint32_t default_chunks,
                   PaceOf pace_of, std::uint32_t slices = 1) {
  const std::uint32_t devices = parameters.devices;
  const std::uint32_t microbatches = parameters.microbatches;
  const std::uint32_t chunks = parameters.chunks.value_or(default_chunks);
  const std::uint32_t filling = (devices + slices - 1) / slices;
  const std::uint32_t group = parameters.group_size.value_or(default_group(microbatches, filling));
  check_group(name, microbatches, group, filling, devices);
  const auto one_device = [&](std::uint32_t device) {
    // A single chunk leaves nothing to interleave, so groups have one microbatch.
    const Table table{
        microbatches * slices, (chunks == 1 ? 1 : group) * slices, chunks, slices, devices, device};
    const PipelinePosition position{.before = device,
                                    .after = devices - 1 - device,
                                    .earlier_chunks = (chunks - 1) * table.group,
                                    .slices = slices};
    return one_by_one(order_of(table), pace_of(position));
  };
  Schedule schedule =
      without_programs(std::move(name), parameters, Routes::looped(devices, chunks));
  schedule.slices = slices;
  return with_programs(std::move(schedule), one_device);
}

}  // namespace

// Interleaved 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2.2; Megatron-LM
// schedules.py). Bubble (p-1)(F+B)/v; ((v-1)g + 2(p-1-r) + 1)/v microbatches in flight on device r,
// with groups of g. With fused pairs, one more forward runs ahead (get_pp_rank_microbatches),
// because the two passes of a pair belong to different microbatches. The makespan is then (p +
// (v-1)g)(F+B) + (m v - (v-1)g - 1) FB, with F, B and a pair's FB of a chunk; ((v-1)g + 2(p-1-r) +
// 2)/v microbatches are in flight.
Schedule interleaved_one_f_one_b(const Parameters& parameters) {
  const bool fused = parameters.fused.value_or(0) != 0;
  if (!fused)
    return in_groups("interleaved-1f1b", parameters, usual_chunks,
                     [](const PipelinePosition& position) {
                       return Pace{.warmup = 2 * position.after + position.earlier_chunks};
                     });
  if (parameters.devices > 1 && parameters.chunks.value_or(usual_chunks) == 1)
    throw Error(
        "interleaved-1f1b: fused pairs need at least 2 chunks per device, as in Megatron-LM");
  return in_groups(
      "interleaved-1f1b", parameters, usual_chunks, [](const PipelinePosition& position) {
        return Pace{.warmup = 2 * position.after + position.earlier_chunks + 1, .fused = true};
      });
}

// Seq1F1B (Sun et al. 2024, arXiv 2406.03488): 1F1B over q slices of each microbatch's sequence.
// Because of causal attention, forwards take the slices in order, and backwards in reverse. Bubble
// (p-1)(F+B)/q for slices of equal cost; min(p-1-r+q, m q)/q microbatches in flight on device r.
Schedule seq_one_f_one_b(const Parameters& parameters) {
  return in_groups(
      "seq1f1b", parameters, 1,
      [](const PipelinePosition& position) {
        return Pace{.warmup = position.after + position.slices - 1};
      },
      parameters.slices.value_or(usual_slices));
}

// Seq1F1B-I (the same paper; schedules.py of MayDomine/Seq1F1B, where q divides p and groups have p
// slices): interleaved 1F1B by slices. Bubble (p-1)(F+B)/(v q) for slices of equal cost; ((v-1)g q
// + 2(p-1-r) + q)/(v q) microbatches in flight with groups of g microbatches.
Schedule interleaved_seq_one_f_one_b(const Parameters& parameters) {
  return in_groups(
      "interleaved-seq1f1b", parameters, usual_chunks,
      [](const PipelinePosition& position) {
        return Pace{.warmup = 2 * position.after + position.earlier_chunks + position.slices - 1};
      },
      parameters.slices.value_or(usual_slices));
}

// Interleaved 1F1B with half the warm-up (Qi et al. 2024, arXiv 2405.15362). Without latency the
// bubble is the same, but no computation is left to hide a transfer behind; ((v-1)g + (p-1-r) +
// 1)/v microbatches in flight on device r.
Schedule interleaved_low_memory(const Parameters& parameters) {
  return in_groups("interleaved-low-memory", parameters, usual_chunks,
                   [](const PipelinePosition& position) {
                     return Pace{.warmup = position.after + position.earlier_chunks};
                   });
}

// PyTorch's ScheduleInterleavedZeroBubble: the low-memory warm-up, with W on device r run r entries
// behind I. Bubble (p-1)F/v for F = I = W; ((v-1)g + p)/v microbatches in flight.
Schedule interleaved_zero_bubble(const Parameters& parameters) {
  return in_groups("interleaved-zb", parameters, usual_chunks,
                   [](const PipelinePosition& position) {
                     return Pace{.warmup = position.after + position.earlier_chunks,
                                 .splits_backward = true,
                                 .weight_grad_lag = position.before};
                   });
}

// ZB-H1 (Qi et al. 2024, arXiv 2401.10241, section 2.1): 1F1B with W on device r run r microbatches
// behind I. Bubble (p-1) max(F, I, F+I-W); p microbatches in flight.
Schedule zb_h1(const Parameters& parameters) {
  return in_groups("zb-h1", parameters, 1, [](const PipelinePosition& position) {
    return Pace{
        .warmup = position.after, .splits_backward = true, .weight_grad_lag = position.before};
  });
}

// ZB-H2 (Qi et al. 2024, arXiv 2401.10241, section 2.2): ZB-H1 with twice the warm-up and W twice
// as far behind I. With m >= 2p-1 the bubble between a device's first and last pass is (p-1) max(0,
// I-F, F+I-2W); 2p-1 microbatches in flight.
Schedule zb_h2(const Parameters& parameters) {
  return in_groups("zb-h2", parameters, 1, [](const PipelinePosition& position) {
    return Pace{.warmup = 2 * position.after,
                .splits_backward = true,
                .weight_grad_lag = 2 * position.before};
  });
}

}  // namespace pipewright::schedules
