#pragma once

#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/compute/pass_seconds.hpp"
#include "sim/workload/shape/encoder.hpp"

// Kernels, seconds and FLOP of an encoder of images. Where nothing of the encoder is trained, it
// has no backward pass; where only the projector is, the backward pass ends there.
namespace pipewright::workload {

// Returns the kernels of the patch embedding, which turns patches into hidden states.
PassKernels patch_kernels(const Encoder& encoder);
// Returns the kernels of the projectors, and those that put their results into the positions of the
// images among the tokens of the text.
PassKernels projector_kernels(const Encoder& encoder);

// Returns the seconds of the whole encoder of a language model; none if the model has no images.
PartSeconds encoder_seconds(const ModelSetting& setting, const config::Gpu& gpu);

// FLOP of a microbatch in an encoder, as MFU counts them: only matrix products.
struct EncoderFlops {
  double forward = 0;
  double training = 0;  // forward and backward pass, without gradients that training does not need
  double recomputed = 0;
};
EncoderFlops encoder_flops(const Encoder& encoder);
// Returns the FLOP of a forward pass over these patches.
double encoder_forward_flops(const Encoder& encoder, const Patches& patches);

}  // namespace pipewright::workload
