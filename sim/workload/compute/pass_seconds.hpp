#pragma once

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/shape.hpp"

// Computes the seconds that one GPU and its host take for each kind of pass.
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
  PassSeconds without_forward() const {
    return {.input_grad = input_grad, .weight_grad = weight_grad, .recomputed = recomputed};
  }
  PassSeconds operator-(const PassSeconds& rhs) const {
    return {forward - rhs.forward, input_grad - rhs.input_grad, weight_grad - rhs.weight_grad,
            recomputed - rhs.recomputed};
  }
};

// Seconds of a part's kernels on the GPU and of their launches on the host. The host launches ahead
// of the GPU, so a pass takes the longer of the sum of its kernels and the sum of its launches.
struct PartSeconds {
  PassSeconds kernels;
  PassSeconds launches;

  PartSeconds& operator+=(const PartSeconds& rhs) {
    kernels += rhs.kernels;
    launches += rhs.launches;
    return *this;
  }
  PartSeconds without_forward() const {
    return {kernels.without_forward(), launches.without_forward()};
  }
  PartSeconds operator-(const PartSeconds& rhs) const {
    return {kernels - rhs.kernels, launches - rhs.launches};
  }
};

// Returns the seconds of a part's kernels, without recomputation.
PartSeconds part_seconds(const ModelSetting& setting, const PassKernels& kernels,
                         const config::Gpu& gpu);
PartSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu);
PartSeconds mtp_seconds(const ModelSetting& setting, const config::Gpu& gpu);
// Returns the seconds of those kernels of a layer whose part satisfies includes(part). Embedding
// and head are not in a layer.
PassSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu,
                          bool (*includes)(Part part));
PassSeconds mtp_seconds(const ModelSetting& setting, const config::Gpu& gpu,
                        bool (*includes)(Part part));
// Returns the seconds of the kernels of softmax(Q K') V alone. Ring attention exchanges keys and
// values during this time.
PassSeconds attention_seconds(const ModelSetting& setting, const Attention& attention,
                              const config::Gpu& gpu);
// Returns the seconds of a weight matrix's products: with the input in the forward pass, and for
// the gradients of the input and of the weights.
PassSeconds product_seconds(const ModelSetting& setting, const Linear& linear,
                            const config::Gpu& gpu);

// Returns the seconds of those kernels of I that drop_lowest_gradients() erases: of all parts, or
// of the parts for which includes(part) holds.
PartSeconds lowest_excess(const ModelSetting& setting, const std::vector<Kernel>& input_grad,
                          const config::Gpu& gpu);
PassSeconds lowest_excess(const ModelSetting& setting, const std::vector<Kernel>& input_grad,
                          const config::Gpu& gpu, bool (*includes)(Part part));

PartSeconds embedding_seconds(const ModelSetting& setting, const config::Gpu& gpu);
// Returns the seconds of the final norm, the output matrix and the loss.
PartSeconds head_seconds(const ModelSetting& setting, const config::Gpu& gpu);

// Returns the seconds of an optimizer step for `parameters` parameters, which reads gradients,
// reads and writes optimizer state, and writes weights. `other_bytes` are the additional bytes that
// it moves for weights of other types than the recipe's.
double optimizer_seconds(const config::Training& training, double parameters,
                         const config::Gpu& gpu, double other_bytes = 0);
// Returns the seconds of Adafactor's step for matrices with `parameters` elements, whose operations
// each read and write whole tensors (torch/optim/_adafactor.py).
double adafactor_seconds(double parameters, const config::Gpu& gpu);

}  // namespace pipewright::workload
