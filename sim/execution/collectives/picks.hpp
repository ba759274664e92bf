#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace pipewright::execution {

// Variants (an algorithm with a protocol), of up to 32, that NCCL picks for a number of bytes and
// for all larger numbers. Where NCCL's estimate makes it pick a slow variant for few bytes and a
// faster one for more, the time of the collective would fall as its bytes grow. Therefore the
// faster one counts for the few bytes too: a plan takes the fastest among these picks.
class Picks {
 public:
  using Set = std::uint32_t;  // bit i: variant i

  Picks() = default;
  // `estimate(variant, bytes)` is NCCL's estimate of the seconds.
  template <class Estimate>
  Picks(std::size_t variants, const Estimate& estimate) : variants_(variants) {
    Set larger = 0;
    for (std::size_t power = from_.size(); power-- > 0;) {
      larger |= pick(std::exp2(static_cast<double>(power) / sizes_per_doubling), estimate);
      from_[power] = larger;
    }
  }

  // Picks for `bytes` and for the larger ones of four sizes per doubling.
  template <class Estimate>
  Set from(double bytes, const Estimate& estimate) const {
    const double power = std::max(std::ceil(std::log2(bytes) * sizes_per_doubling), 0.0);
    const Set larger =
        power < static_cast<double>(from_.size()) ? from_[static_cast<std::size_t>(power)] : 0;
    return larger | pick(bytes, estimate);
  }

  static bool contains(Set set, std::size_t variant) { return (set >> variant & 1U) != 0; }

 private:
  template <class Estimate>
  Set pick(double bytes, const Estimate& estimate) const {
    double lowest = std::numeric_limits<double>::infinity();
    std::size_t best = 0;
    for (std::size_t variant = 0; variant < variants_; ++variant) {
      const double seconds = estimate(variant, bytes);
      if (seconds >= lowest) continue;
      lowest = seconds;
      best = variant;
    }
    return Set{1} << best;
  }

  static constexpr double sizes_per_doubling = 4;
  static constexpr std::size_t powers = 168;  // 42 doublings: up to 4 TiB
  std::size_t variants_ = 0;
  std::array<Set, powers> from_{};
};

}  // namespace pipewright::execution
