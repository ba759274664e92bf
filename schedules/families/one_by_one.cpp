#include "schedules/families/one_by_one.hpp"

#include <algorithm>
#include <vector>

namespace pipewright::schedules {
namespace {

// A kind of pass that runs entry `step - first` at each step from `first` on, until all have run.
struct Track {
  PassKind kind;
  std::int64_t first;
};

// Steps from..to, at each of which exactly these tracks run.
void add_steps(Program& program, const EntryOrder& order, const std::vector<Track>& running,
               std::int64_t from, std::int64_t to) {
  const auto body = [&](std::int64_t begin, std::int64_t end) {
    std::vector<Pass> passes;
    for (std::int64_t step = begin; step < end; ++step)
      for (const Track& track : running)
        passes.push_back(order.pass(static_cast<std::uint32_t>(step - track.first), track.kind));
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

}  // namespace

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
    add_steps(program, order, running, changes[i], changes[i + 1]);
  }
  return program;
}

}  // namespace pipewright::schedules
