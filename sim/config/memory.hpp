#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Number of bytes on each device: one value for all devices, or one per device. Without values it
// counts as 0, or is computed from the model.
struct DeviceBytes {
  std::vector<std::uint64_t> values;

  bool has_values() const { return !values.empty(); }
  std::uint64_t at(std::size_t device) const {
    if (!has_values()) return 0;
    return values.size() == 1 ? values.front() : values.at(device);
  }
};

// Default fraction of a microbatch's activations that I frees; W frees the rest. It is the default
// of the zero-bubble scheduler of Qi et al. (zero-bubble-v0.1.0 of
// sail-sg/zero-bubble-pipeline-parallelism, auto_schedule.py: F takes 2, I and W free 1 each).
// Their formula for a layer, (2h + 5as) / (34h + 5as) (arXiv 2401.10241, section 3.2), gives 57 %
// for h = 4096, a = 32 and s = 1024 if attention scores are stored, and 6 % if not.
inline constexpr double typical_input_grad_release = 0.5;

// Bytes of a microbatch's activations on each device, all chunks together, and how many of them I
// and W free. The two releases add up to the whole.
struct Activation {
  DeviceBytes per_microbatch;
  DeviceBytes released_by_input_grad;
  DeviceBytes released_by_weight_grad;
};

// Bytes that every device holds during the whole run: weights, gradients and optimizer state.
struct State {
  DeviceBytes weights;
  DeviceBytes gradients;
  DeviceBytes optimizer;
};

Activation read_activation(const Field& field, std::uint32_t devices);
State read_state(const Field& field, std::uint32_t devices);

// Return the keys of the sections `activation` and `state`, for help texts.
std::vector<KeyRow> activation_keys();
std::vector<KeyRow> state_keys();

}  // namespace pipewright::config
