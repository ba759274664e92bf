#include "schedules/families/programs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pipewright::schedules {
namespace {

// Passes of one kind that run one after the other: the pass at `step` is entry `step - first` of
// its order; there is none before step `first` or after the last entry.
struct Track {
  PassKind kind;
  std::int64_t first;
};

// Adds the passes of steps `from` to `to` to a program; in each step, one pass of each of
// `running`.
void add_steps(Program& program, const EntryOrder& order, const std::vector<Track>& running,
               bool fused, std::int64_t from, std::int64_t to) {
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    std::vector<Pass> passes;
    for (std::int64_t step = begin; step < end; ++step)
      for (const Track& track : running) {
        passes.push_back(order.pass(static_cast<std::uint32_t>(step - track.first), track.kind));
        passes.back().fused = fused && &track != &running.back();
      }
    return passes;
  };
  std::int64_t regular_to = to;
  for (const Track& track : running)
    regular_to = std::min<std::int64_t>(regular_to, track.first + order.regular);
  const std::int64_t rounds = std::max<std::int64_t>(regular_to - from, 0) / order.period;
  const std::int64_t rest = from + rounds * order.period;
  if (rounds > 0)
    program.repeat(static_cast<std::uint32_t>(rounds),
                   static_cast<std::int32_t>(order.microbatches_a_period),
                   body(from, from + order.period));
  program.repeat(1, 0, body(rest, to));
}

std::size_t counter_of(PassKind kind) {
  if (kind == PassKind::forward) return 0;
  return kind == PassKind::weight_grad ? 2 : 1;
}

}  // namespace

Schedule without_programs(std::string name, const Parameters& parameters, Routes routes) {
  const std::uint32_t chunks = routes.stages() / parameters.devices;
  return {.name = std::move(name),
          .devices = parameters.devices,
          .chunks = chunks,
          .microbatches = parameters.microbatches,
          .iterations = parameters.iterations,
          .routes = std::move(routes),
          .programs = {}};
}

Schedule with_programs(Schedule schedule, const std::function<Program(std::uint32_t)>& of_device) {
  for (std::uint32_t device = 0; device < schedule.devices; ++device)
    schedule.programs.push_back(of_device(device));
  set_iterations(schedule, schedule.iterations);
  return schedule;
}

Schedule with_requested_fusion(Schedule schedule, const Parameters& parameters) {
  if (parameters.fused.value_or(1) != 0) return schedule;
  for (Program& program : schedule.programs)
    for (Loop& loop : program.loops)
      for (Pass& pass : loop.body) pass.fused = false;
  return schedule;
}

Program one_by_one(const EntryOrder& order, const Pace& pace) {
  const std::int64_t entries = order.entries;
  std::vector<Track> tracks{{PassKind::forward, -std::min<std::int64_t>(pace.warmup, entries)}};
  if (pace.splits_backward) {
    tracks.push_back({PassKind::input_grad, 0});
    tracks.push_back({PassKind::weight_grad, pace.weight_grad_lag});
  } else {
    tracks.push_back({PassKind::backward, 0});
  }

  std::vector<std::int64_t> changes;
  for (const Track& track : tracks) {
    changes.push_back(track.first);
    changes.push_back(track.first + entries);
  }
  std::sort(changes.begin(), changes.end());
  Program program;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    std::vector<Track> running;
    for (const Track& track : tracks)
      if (track.first <= changes[i] && changes[i] < track.first + entries) running.push_back(track);
    add_steps(program, order, running, pace.fused, changes[i], changes[i + 1]);
  }
  return program;
}

Pass Script::pass(const Op& op, std::uint32_t round) const {
  const Chunk& chunk = chunks_[op.chunk];
  const std::uint32_t index = taken_[op.chunk][counter_of(op.kind)] + round;
  return {op.kind, chunk.stage, chunk.first_microbatch + index * stride_, op.fused};
}

void Script::run(std::uint32_t rounds, const std::vector<Op>& ops) {
  if (rounds == 0) return;
  const bool all_within = std::all_of(ops.begin(), ops.end(), [&](const Op& op) {
    return pass(op, rounds - 1).microbatch < limit_;
  });
  if (all_within && rounds > 1) {
    flush();
    std::vector<Pass> body;
    for (const Op& op : ops) body.push_back(pass(op, 0));
    program_.repeat(rounds, static_cast<std::int32_t>(stride_), std::move(body));
  } else {
    // Later rounds have higher microbatches, so after a round with none below the limit we can
    // stop.
    bool any_within = true;
    for (std::uint32_t round = 0; round < rounds && any_within; ++round) {
      any_within = false;
      for (const Op& op : ops) {
        const Pass next = pass(op, round);
        if (next.microbatch >= limit_) continue;
        single_.push_back(next);
        any_within = true;
      }
    }
  }
  for (const Op& op : ops) {
    taken_[op.chunk][counter_of(op.kind)] += rounds;
    if (op.kind == PassKind::backward)
      taken_[op.chunk][counter_of(PassKind::weight_grad)] += rounds;
  }
}

void Script::flush() {
  Program folded = fold(single_);
  for (Loop& loop : folded.loops) program_.loops.push_back(std::move(loop));
  single_.clear();
}

Program Script::finish() {
  flush();
  return std::move(program_);
}

}  // namespace pipewright::schedules
