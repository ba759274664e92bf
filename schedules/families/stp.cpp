#include <algorithm>
#include <array>
#include <deque>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schedules/families/families.hpp"
#include "schedules/families/programs.hpp"

namespace pipewright::schedules {
namespace {
namespace braid {

struct Op {
  PassKind kind;
  std::uint32_t chunk = 0;
};

constexpr Op f0{PassKind::forward, 0}, f1{PassKind::forward, 1};
constexpr Op b0{PassKind::backward, 0}, b1{PassKind::backward, 1};
constexpr Op i0{PassKind::input_grad, 0}, i1{PassKind::input_grad, 1};
constexpr Op w{PassKind::weight_grad};  // Of the first I in the queue, on either chunk.

// Writes the passes of one device pass by pass and pair by pair, each for the next microbatch on
// its chunk. I puts its W in a queue, which is first in, first out. Passes of microbatches from
// `limit` on are left out.
class Writer {
 public:
  Writer(std::array<std::uint16_t, 2> stage_of_chunk, std::uint32_t limit)
      : stage_of_chunk_(stage_of_chunk), limit_(limit) {}

  void run(Op op) { append({next(op)}); }
  void pair(Op first, Op second) {
    const Pass pass = next(first);
    append({pass, next(second)});
  }

  // Writes two pairs `rounds` times. They hold no I and no W.
  void repeat_pairs(std::uint32_t rounds, std::array<Op, 2> first, std::array<Op, 2> second) {
    const std::uint32_t forwards = std::max(taken_[0][0], taken_[1][0]) + rounds;
    const bool all_within = rounds > 1 && forwards <= limit_;
    if (all_within) flush();
    for (std::uint32_t round = 0; round < (all_within ? 1 : rounds); ++round) {
      pair(first[0], first[1]);
      pair(second[0], second[1]);
    }
    if (!all_within) return;
    program_.repeat(rounds, 1, std::exchange(passes_, {}));
    for (std::array<std::uint32_t, 2>& of_chunk : taken_)
      for (std::uint32_t& microbatch : of_chunk) microbatch += rounds - 1;
  }

  Program finish() {
    flush();
    return std::move(program_);
  }

 private:
  Pass next(Op op) {
    if (op.kind == PassKind::weight_grad) {
      const Pass pass = waiting_.front();
      waiting_.pop_front();
      return pass;
    }
    std::uint32_t& microbatch = taken_[op.chunk][op.kind == PassKind::forward ? 0 : 1];
    const Pass pass{op.kind, stage_of_chunk_[op.chunk], microbatch++};
    if (op.kind == PassKind::input_grad)
      waiting_.push_back({PassKind::weight_grad, pass.stage, pass.microbatch});
    return pass;
  }

  void append(std::vector<Pass> passes) {
    std::erase_if(passes, [&](const Pass& pass) { return pass.microbatch >= limit_; });
    if (passes.size() == 2) passes.front().fused = true;
    passes_.insert(passes_.end(), passes.begin(), passes.end());
  }

  void flush() { program_.repeat(1, 0, std::exchange(passes_, {})); }

  std::array<std::uint16_t, 2> stage_of_chunk_;
  std::uint32_t limit_;
  std::array<std::array<std::uint32_t, 2>, 2> taken_{};  // [chunk][forwards, gradients]
  std::deque<Pass> waiting_;                             // W passes whose I has run.
  std::vector<Pass> passes_;                             // Not yet in the program.
  Program program_;
};

// Returns the passes of device r of p. The nine phases are those of the authors' schedule.py. They
// need at least 3p-1 microbatches; for fewer, they are followed as if there were that many, and
// passes of the missing ones are left out.
Program one_device(std::uint32_t r, std::uint32_t p, std::uint32_t microbatches) {
  const std::uint32_t m = std::max(microbatches, 3 * p - 1);
  const std::uint32_t after = p - r - 1;  // Number of devices after this one.
  Writer writer({static_cast<std::uint16_t>(r), static_cast<std::uint16_t>(2 * p - 1 - r)},
                microbatches);
  const auto times = [](std::uint32_t rounds, auto&& run) {
    for (std::uint32_t round = 0; round < rounds; ++round) run();
  };
  times(2 * after, [&] { writer.run(f0); });
  times(r + 1, [&] {
    writer.run(f0);
    writer.run(f1);
  });
  if ((r + 1) % 2 == 1) writer.run(f0);
  times((r + 1) / 2, [&] { writer.pair(f0, f0); });
  times(after, [&] {
    writer.pair(f1, i1);
    writer.pair(f0, w);
  });

  // A forward of the steady state runs beside a backward on the same chunk. In the last r of these
  // pairs, W is delayed.
  const std::uint32_t crossings = 2 * (m - 3 * p + 1) + 1 + 2 * r;
  const std::uint32_t whole = crossings - r;
  writer.repeat_pairs(whole / 2, {f1, b1}, {f0, b0});
  for (std::uint32_t i = whole / 2 * 2; i < crossings; ++i) {
    const bool is_whole = i < whole;
    if (i % 2 == 0)
      writer.pair(f1, is_whole ? b1 : i1);
    else
      writer.pair(f0, is_whole ? b0 : i0);
  }

  times(m - p - 1 - crossings / 2, [&] {
    writer.run(b0);
    writer.pair(f1, i1);
  });
  times(r + 1, [&] {
    writer.run(b0);
    writer.run(b1);
  });
  writer.run(b0);
  times(after, [&] {
    writer.run(w);
    writer.run(w);
    writer.run(b0);
  });
  times(2 * r, [&] { writer.run(w); });
  return writer.finish();
}

}  // namespace braid
}  // namespace

// STP (Qi et al. 2025, arXiv 2510.27257; schedule.py of MICLAB-BUPT/STP): two chunks in a V, with
// passes in braided pairs, in which the tensor-parallel collectives of each pass run beside the
// compute of the other. A pair that takes the time of both passes gives the bubble (p-1)(2F + 2I -
// 3W) of chunk times for m >= 3p-1 and W <= F, W <= I; 3p/2 microbatches are in flight.
Schedule stp(const Parameters& parameters) {
  const std::uint32_t devices = parameters.devices;
  if (parameters.microbatches < 2 * devices)
    throw Error(fmt::format("stp: {} devices need at least {} microbatches, not {}", devices,
                            2 * devices, parameters.microbatches));
  Schedule schedule = without_programs("stp", parameters, Routes::v_shape(devices));
  schedule.braids = parameters.fused.value_or(1) != 0;
  return with_requested_fusion(with_programs(std::move(schedule),
                                             [&](std::uint32_t device) {
                                               return braid::one_device(device, devices,
                                                                        parameters.microbatches);
                                             }),
                               parameters);
}

}  // namespace pipewright::schedules
