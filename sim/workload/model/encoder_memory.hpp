#pragma once

#include <vector>

#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/shape/encoder.hpp"

namespace pipewright::workload {

// Returns the activations of the parts of an encoder of images: of the patch embedding, of each
// layer, and of the projectors. Layers that are not trained save nothing, since no gradient flows
// into them.
std::vector<ActivationBytes> encoder_bytes(const Encoder& encoder);

}  // namespace pipewright::workload
