#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schedules/pass.hpp"

namespace pipewright::schedules {

// How a boundary tensor crosses between two devices. All are posted when the pass that made it
// ends.
enum class P2p : std::uint8_t {
  eager,       // receives are pre-posted: the transfer starts at once, the sender goes on
  rendezvous,  // it starts when the receiver has reached the pass that needs it; the sender goes on
  blocking,    // it starts at once, and the sender computes nothing until it has arrived
};
inline constexpr std::array<std::string_view, 3> p2p_names{"eager", "rendezvous", "blocking"};
constexpr std::string_view to_string(P2p mode) {
  return p2p_names.at(static_cast<std::size_t>(mode));
}

// Duration of each kind of pass on each virtual stage, in seconds.
struct PassTimes {
  std::array<std::vector<double>, pass_kinds> of_stage;  // empty for a kind that never runs
  std::optional<double> overlap;  // a fused pair takes this part of the sum of its two times,
  std::vector<double> fused;      // or, if given, this, by the stage of the first

  std::vector<double>& operator[](PassKind kind) { return of_stage[static_cast<int>(kind)]; }
  const std::vector<double>& operator[](PassKind kind) const {
    return of_stage[static_cast<int>(kind)];
  }
  double operator()(const Pass& pass) const { return (*this)[pass.kind][pass.stage]; }
  double operator()(const Pass& first, const Pass& second) const {
    return fused.empty() ? overlap.value_or(1) * ((*this)(first) + (*this)(second))
                         : fused[first.stage];
  }
  bool says_pairs() const { return overlap || !fused.empty(); }  // what they take
};

// Time in seconds that a boundary tensor takes from one device to another when nothing contends; 0
// within a device.
class HopTimes {
 public:
  explicit HopTimes(double everywhere) : everywhere_(everywhere) {}
  void set(std::uint32_t source, std::uint32_t destination, double seconds) {
    special_[key(source, destination)] = seconds;
  }
  double operator()(std::uint32_t source, std::uint32_t destination) const {
    if (source == destination) return 0;
    const auto found = special_.find(key(source, destination));
    return found == special_.end() ? everywhere_ : found->second;
  }

 private:
  static std::uint64_t key(std::uint32_t source, std::uint32_t destination) {
    return std::uint64_t{source} << 32U | destination;
  }

  double everywhere_;
  std::unordered_map<std::uint64_t, double> special_;  // by source and destination
};

// When a pass ran. All in seconds from the start of the run.
struct PassSpan {
  double sent = 0;      // its input was posted
  double ready = 0;     // its input had arrived
  double start = 0;     // it started on the device
  double end = 0;       // it ended
  double released = 0;  // the device could go on
};

}  // namespace pipewright::schedules
