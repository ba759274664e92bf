#pragma once

#include "sim/config/gpu.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/shape.hpp"

// Seconds of one GPU and of its host, by pass.
namespace pipewright::workload {

struct PassSeconds {
  double forward = 0;
  double input_grad = 0;
  double weight_grad = 0;
  double recomputed = 0;  // of the forward, before I

  double before_weight_grad() const { return recomputed + input_grad; }
  double backward() const { return recomputed + input_grad + weight_grad; }
  PassSeconds& operator+=(const PassSeconds& other) {
    forward += other.forward;
    input_grad += other.input_grad;
    weight_grad += other.weight_grad;
    recomputed += other.recomputed;
    return *this;
  }
  PassSeconds operator-(const PassSeconds& other) const {
    return {forward - other.forward, input_grad - other.input_grad, weight_grad - other.weight_grad,
            recomputed - other.recomputed};
  }
};

// The host launches ahead, and the GPU runs what is launched: a pass takes the longer of all its
// kernels, one after the other, and all their launches.
struct PartSeconds {
  PassSeconds kernels;
  PassSeconds launches;

  PartSeconds& operator+=(const PartSeconds& other) {
    kernels += other.kernels;
    launches += other.launches;
    return *this;
  }
  PartSeconds operator-(const PartSeconds& other) const {
    return {kernels - other.kernels, launches - other.launches};
  }
};

PartSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu);
PartSeconds mtp_seconds(const ModelSetting& setting, const config::Gpu& gpu);
// Of them the kernels of those parts alone that are `wanted`, of all but embedding and head.
PassSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu,
                          bool (*wanted)(Part part));
PassSeconds mtp_seconds(const ModelSetting& setting, const config::Gpu& gpu,
                        bool (*wanted)(Part part));
// Of a layer's attention's kernels alone, softmax(Q K') V: what ring attention hides its exchange
// under.
PassSeconds attention_seconds(const ModelSetting& setting, const Attention& attention,
                              const config::Gpu& gpu);
// Of a matrix's three products: with its input, with its output's gradient, with both.
PassSeconds product_seconds(const ModelSetting& setting, const Linear& linear,
                            const config::Gpu& gpu);

PartSeconds embedding_seconds(const ModelSetting& setting, const config::Gpu& gpu);
PartSeconds head_seconds(const ModelSetting& setting,
                         const config::Gpu& gpu);  // output matrix and loss

// The optimizer's step over so many parameters: it reads gradients, reads and writes its state,
// writes weights.
double optimizer_seconds(const config::Training& training, double parameters,
                         const config::Gpu& gpu);

}  // namespace pipewright::workload
