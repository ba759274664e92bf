#pragma once

#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/shape/encoder.hpp"

namespace pipewright::workload {

// Returns the activations of an encoder of images. Layers that are not trained save nothing, since
// no gradient flows into them.
ActivationBytes encoder_bytes(const Encoder& encoder);

}  // namespace pipewright::workload
