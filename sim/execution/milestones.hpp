#pragma once

#include <cstdint>

namespace pipewright::execution {

// Event in the compute of a pass: a bucket of gradients is complete, or a bucket of weights is
// needed. Gradients and weights each divide the compute into as many equal parts as they have
// buckets: gradients are complete at the end of a part, weights are needed at the beginning of one.
struct Milestone {
  enum class Kind : std::uint8_t { none, gradients, weights };
  Kind kind = Kind::none;
  // True for weights of the second pass of a fused pair.
  bool of_partner = false;
  std::uint32_t part = 0;
  std::uint32_t parts = 1;

  // Fraction of the compute that precedes the milestone.
  double share() const {
    return static_cast<double>(part + (kind == Kind::gradients ? 1 : 0)) / parts;
  }
};

// Sequence of the milestones of a pass or a fused pair. Gradients that are complete at the end of a
// part precede weights that the next part needs. The order depends only on the numbers of parts, so
// that it is the same on all copies of a device.
class Milestones {
 public:
  // Numbers of parts (buckets); 0: no milestones of that kind.
  Milestones(std::uint32_t gradients, std::uint32_t weights, std::uint32_t weights_of_partner = 0)
      : ends_{gradients, weights, weights_of_partner} {}

  Milestone next() const;  // kind `none` after the last milestone
  void pop(const Milestone& first) { ++at_[index_of(first)]; }
  bool needs_more_weights() const { return at_[1] < ends_[1] || at_[2] < ends_[2]; }

 private:
  static int index_of(const Milestone& milestone) {
    return milestone.kind == Milestone::Kind::gradients
               ? 0
               : 1 + static_cast<int>(milestone.of_partner);
  }

  std::uint32_t ends_[3];
  std::uint32_t at_[3] = {0, 0, 0};
};

inline Milestone Milestones::next() const {
  Milestone first;
  std::uint64_t steps = 0;  // steps of the first milestone, in units of its parts
  for (int i = 0; i < 3; ++i) {
    if (at_[i] >= ends_[i]) continue;
    const std::uint64_t position = at_[i] + (i == 0 ? 1U : 0U);
    if (first.kind != Milestone::Kind::none && position * first.parts >= steps * ends_[i]) continue;
    steps = position;
    first = {.kind = i == 0 ? Milestone::Kind::gradients : Milestone::Kind::weights,
             .of_partner = i == 2,
             .part = at_[i],
             .parts = ends_[i]};
  }
  return first;
}

// Time that walk_compute() takes in addition to the compute, in seconds.
struct Delays {
  double waited = 0;  // waits for weights
  double lost = 0;    // compute slowed down by collectives
};

// Walks through `seconds` of compute from `now` on. Calls whole(part, time) when a part of the
// gradients is complete; needed(milestone, is_last, time) when a part of the weights is needed,
// which returns the time at which that part is available; and lost(time, work), in order of time,
// which returns how much longer `work` seconds of compute take from that time on.
template <class Whole, class Needed, class Lost>
Delays walk_compute(Milestones milestones, double now, double seconds, Whole&& whole,
                    Needed&& needed, Lost&& lost) {
  Delays delays;
  double share = 0;
  const auto compute_until = [&](double next) {
    delays.lost +=
        lost(now + delays.waited + delays.lost + share * seconds, (next - share) * seconds);
    share = next;
  };
  for (Milestone due = milestones.next(); due.kind != Milestone::Kind::none;
       due = milestones.next()) {
    milestones.pop(due);
    compute_until(due.share());
    const double time = now + delays.waited + delays.lost + share * seconds;
    if (due.kind == Milestone::Kind::gradients)
      whole(due.part, time);
    else if (const double available = needed(due, !milestones.needs_more_weights(), time);
             available > time)
      delays.waited += available - time;
  }
  compute_until(1);
  return delays;
}

}  // namespace pipewright::execution
