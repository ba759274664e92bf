#pragma once

#include <array>
#include <cstdint>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// The axes along which ranks are cut, the fastest first in an order.
enum class Axis : std::uint8_t { tp, cp, ep, dp, pp };
inline constexpr int axes = 5;

// The layout of a job over its GPUs: tp * cp * dp * pp of them. Experts are spread over `ep` of
// the cp * dp ranks that hold the same part of the dense model.
struct Parallel {
  Located<std::uint32_t> tp{1, {}};
  Located<std::uint32_t> cp{1, {}};
  Located<std::uint32_t> ep{1, {}};
  Located<std::uint32_t> dp{1, {}};
  Located<std::uint32_t> pp{1, {}};  // the scenario's devices
  bool sequence = false;             // sequence parallelism over the ranks of tp
  std::uint32_t zero = 0;            // ZeRO level, 0 to 3
  std::array<Axis, axes> order{Axis::tp, Axis::cp, Axis::ep, Axis::dp, Axis::pp};

  std::uint32_t ranks_per_stage() const {
    return tp.value * cp.value;
  }  // GPUs of a pipeline device
};

// Without pp, which is the scenario's `devices`.
Parallel read_parallel(const Field& field);
std::vector<KeyRow> parallel_keys();

}  // namespace pipewright::config
