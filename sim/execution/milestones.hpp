#pragma once

#include <cstdint>

namespace pipewright::execution {

// What falls due while a device computes: at the end of each of equal parts of the compute a part
// of the gradients is whole, at the beginning of each of others a part of the weights is needed.
struct Milestone {
  enum class Kind : std::uint8_t { none, gradients, weights };
  Kind kind = Kind::none;
  bool of_partner = false;  // weights of the second of a fused pair
  std::uint32_t part = 0;
  std::uint32_t parts = 1;

  // The share of the compute that comes before.
  double share() const {
    return static_cast<double>(part + (kind == Kind::gradients ? 1 : 0)) / parts;
  }
};

// Those of a pass, or of a fused pair, in order. What is whole at the end of a part goes before
// what the next part needs. The order depends on the counts alone: all copies of a device see the
// same.
class Milestones {
 public:
  // In how many parts; 0: none.
  Milestones(std::uint32_t gradients, std::uint32_t weights, std::uint32_t weights_of_partner = 0)
      : ends_{gradients, weights, weights_of_partner} {}

  Milestone next() const;  // of kind none when all are over
  void pop(const Milestone& first) { ++at_[index_of(first)]; }
  bool needs_more_weights() const { return at_[1] < ends_[1] || at_[2] < ends_[2]; }

 private:
  static int index_of(const Milestone& one) {
    return one.kind == Milestone::Kind::gradients ? 0 : 1 + static_cast<int>(one.of_partner);
  }

  std::uint32_t ends_[3];
  std::uint32_t at_[3] = {0, 0, 0};
};

inline Milestone Milestones::next() const {
  Milestone first;
  std::uint64_t steps = 0;  // of its parts
  for (int i = 0; i < 3; ++i) {
    if (at_[i] >= ends_[i]) continue;
    const std::uint64_t here = at_[i] + (i == 0 ? 1U : 0U);
    if (first.kind != Milestone::Kind::none && here * first.parts >= steps * ends_[i]) continue;
    steps = here;
    first = {.kind = i == 0 ? Milestone::Kind::gradients : Milestone::Kind::weights,
             .of_partner = i == 2,
             .part = at_[i],
             .parts = ends_[i]};
  }
  return first;
}

// What a walk took beside the compute itself, in seconds.
struct Delays {
  double waited = 0;  // for weights
  double lost = 0;    // while compute was slow
};

// A walk through `seconds` of compute from `now` on. Calls whole(part, time) as parts of gradients
// become whole, needed(milestone, is_last, time) where a part of the weights is needed, which says
// when it is there, and lost(time, work), in order of time, for how much longer so many seconds of
// compute take from then on.
template <class Whole, class Needed, class Lost>
Delays walk(Milestones milestones, double now, double seconds, Whole&& whole, Needed&& needed,
            Lost&& lost) {
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
    const double then = now + delays.waited + delays.lost + share * seconds;
    if (due.kind == Milestone::Kind::gradients)
      whole(due.part, then);
    else if (const double there = needed(due, !milestones.needs_more_weights(), then); there > then)
      delays.waited += there - then;
  }
  compute_until(1);
  return delays;
}

}  // namespace pipewright::execution
