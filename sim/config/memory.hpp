#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Bytes of each device: one value for all of them, or one for each. Where none is given they count
// as 0, or a model says what they are.
struct DeviceBytes {
  std::vector<std::uint64_t> values;

  bool given() const { return !values.empty(); }
  std::uint64_t at(std::size_t device) const {
    if (!given()) return 0;
    return values.size() == 1 ? values.front() : values.at(device);
  }
};

// The part of a microbatch's activations that I frees, and W the rest, where nothing says it: what
// the zero-bubble scheduler of Qi et al. takes when it is told nothing (zero-bubble-v0.1.0 of
// sail-sg/zero-bubble-pipeline-parallelism, auto_schedule.py: F takes 2, I and W free 1 each).
// Their formula, (2h + 5as) / (34h + 5as) of a layer (arXiv 2401.10241, section 3.2), is 57 % for
// h = 4096, a = 32 and s = 1024 with attention's scores kept, and 6 % without any kept.
inline constexpr double typical_input_grad_release = 0.5;

// What one microbatch leaves on a device, all its chunks together, and which backward pass lets
// go of how much of it: the two releases add up to the whole.
struct Activation {
  DeviceBytes per_microbatch;
  DeviceBytes released_by_input_grad;
  DeviceBytes released_by_weight_grad;
};

// What stays for the whole run, per device.
struct State {
  DeviceBytes weights;
  DeviceBytes gradients;
  DeviceBytes optimizer;
};

Activation read_activation(const Field& field, std::uint32_t devices);
State read_state(const Field& field, std::uint32_t devices);

// The keys of the two maps, for the help.
std::vector<KeyRow> activation_keys();
std::vector<KeyRow> state_keys();

}  // namespace pipewright::config
