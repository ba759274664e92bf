#pragma once

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/shape.hpp"

// Seconds of one GPU and its host, per kind of pass.
namespace pipewright::workload {

struct PassSeconds {
  double forward = 0;
  double input_grad = 0;
  double weight_grad = 0;
  double recomputed = 0;  // recomputed part of the forward pass, before I

  double before_weight_grad() const { return recomputed + input_grad; }
  double backward() const { return recomputed + input_grad + weight_grad; }
  PassSeconds& operator+=(const PassSeconds& rhs) {
    forward += rhs.forward;
    input_grad += rhs.input_grad;
    weight_grad += rhs.weight_grad;
    recomputed += rhs.recomputed;
    return *this;
  }
  PassSeconds operator-(const PassSeconds& rhs) const {
    return {forward - rhs.forward, input_grad - rhs.input_grad, weight_grad - rhs.weight_grad,
            recomputed - rhs.recomputed};
  }
};

// Seconds of a part's kernels and launches. The host launches ahead of the GPU, so that a pass
// takes the longer of the sum of its kernels and the sum of its launches.
struct PartSeconds {
  PassSeconds kernels;
  PassSeconds launches;

  PartSeconds& operator+=(const PartSeconds& rhs) {
    kernels += rhs.kernels;
    launches += rhs.launches;
    return *this;
  }
  PartSeconds operator-(const PartSeconds& rhs) const {
    return {kernels - rhs.kernels, launches - rhs.launches};
  }
};

PartSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu);
PartSeconds mtp_seconds(const ModelSetting& setting, const config::Gpu& gpu);
// Kernel seconds of the parts for which includes(part) holds; the embedding and the head are not
// among them.
PassSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu,
                          bool (*includes)(Part part));
PassSeconds mtp_seconds(const ModelSetting& setting, const config::Gpu& gpu,
                        bool (*includes)(Part part));
// Seconds of the kernels of softmax(Q K') V alone, beside which ring attention hides its exchange.
PassSeconds attention_seconds(const ModelSetting& setting, const Attention& attention,
                              const config::Gpu& gpu);
// Seconds of a matrix's product with the input, and of the gradients of the input and of the
// weights.
PassSeconds product_seconds(const ModelSetting& setting, const Linear& linear,
                            const config::Gpu& gpu);

PartSeconds embedding_seconds(const ModelSetting& setting, const config::Gpu& gpu);
// Seconds of the final norm, the output matrix and the loss.
PartSeconds head_seconds(const ModelSetting& setting, const config::Gpu& gpu);

// Seconds of an optimizer step for `parameters` parameters: it reads gradients, reads and writes
// optimizer state, and writes weights.
double optimizer_seconds(const config::Training& training, double parameters,
                         const config::Gpu& gpu);

}  // namespace pipewright::workload
