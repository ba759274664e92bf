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
