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

// Protocol by which a boundary tensor is sent to the next device. The sender posts the transfer
// when the pass that made the tensor ends.
enum class P2p : std::uint8_t {
  eager,       // The transfer starts at once (receives are pre-posted) and the sender goes on.
  rendezvous,  // It starts when the receiver reaches the pass that needs it; the sender goes on.
  blocking,    // It starts at once and the sender computes nothing until the tensor has arrived.
  steady,      // Eager while forwards and backwards alternate, blocking in warm-up and cool-down.
};
inline constexpr std::array<std::string_view, 4> p2p_names{"eager", "rendezvous", "blocking",
                                                           "steady"};
constexpr std::string_view to_string(P2p mode) {
  return p2p_names.at(static_cast<std::size_t>(mode));
}

// Duration of each kind of pass on each virtual stage, in seconds.
struct PassTimes {
  std::array<std::vector<double>, pass_kinds> of_stage;  // Empty for a kind that never runs.
  // Duration of a fused pair: if `fused` is not empty, its value for the stage of the pair's first
  // pass; otherwise `overlap` times the sum of the durations of both passes.
  std::optional<double> overlap;
  std::vector<double> fused;

  std::vector<double>& operator[](PassKind kind) { return of_stage[static_cast<int>(kind)]; }
  const std::vector<double>& operator[](PassKind kind) const {
    return of_stage[static_cast<int>(kind)];
  }
  double operator()(const Pass& pass) const { return (*this)[pass.kind][pass.stage]; }
  double operator()(const Pass& first, const Pass& second) const {
    return fused.empty() ? overlap.value_or(1) * ((*this)(first) + (*this)(second))
                         : fused[first.stage];
  }
  bool has_pair_times() const { return overlap || !fused.empty(); }
};

// Time in seconds to transfer a boundary tensor between two devices without contention; 0 if both
// stages are on the same device.
class HopTimes {
 public:
  explicit HopTimes(double everywhere) : everywhere_(everywhere) {}
  void set(std::uint32_t source, std::uint32_t destination, double seconds) {
    special_[key(source, destination)] = seconds;
  }
  // Seconds of the exchanges of a split vocabulary: of hidden states from the last stage to all
  // devices before S, of sums over all devices after S, and of gradients after T.
  struct Barriers {
    double before_output = 0;
    double after_output = 0;
    double after_output_grad = 0;
  };
  Barriers barriers;

  double operator()(std::uint32_t source, std::uint32_t destination) const {
    if (source == destination) return 0;
    const auto it = special_.find(key(source, destination));
    return it == special_.end() ? everywhere_ : it->second;
  }

 private:
  static std::uint64_t key(std::uint32_t source, std::uint32_t destination) {
    return std::uint64_t{source} << 32U | destination;
  }

  double everywhere_;
  std::unordered_map<std::uint64_t, double> special_;  // Key: source and destination.
};

// Times of the events in the life of a pass, in seconds from the start of the run.
struct PassSpan {
  double sent = 0;      // The transfer of its input was posted.
  double ready = 0;     // Its input had arrived.
  double start = 0;     // It started on the device.
  double end = 0;       // It ended.
  double released = 0;  // The device could start its next pass.
};

}  // namespace pipewright::schedules
