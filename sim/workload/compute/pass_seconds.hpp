#pragma once

#include "sim/config/gpu.hpp"
#include "sim/workload/shape/shape.hpp"

// Seconds of compute on one GPU, by pass.
namespace pipewright::workload {

struct PassSeconds {
  double forward = 0;
  double input_grad = 0;
  double weight_grad = 0;
  double recomputed = 0;  // of the forward, before I

  PassSeconds& operator+=(const PassSeconds& other) {
    forward += other.forward;
    input_grad += other.input_grad;
    weight_grad += other.weight_grad;
    recomputed += other.recomputed;
    return *this;
  }
  double all() const { return forward + input_grad + weight_grad + recomputed; }
};

PassSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const config::Gpu& gpu);
// Of its attention alone, softmax(Q K') V: what ring attention hides its exchange under.
PassSeconds attention_seconds(const ModelSetting& setting, const Attention& attention,
                              const config::Gpu& gpu);
// Of a matrix's three products: with its input, with its output's gradient, with both.
PassSeconds product_seconds(const ModelSetting& setting, const Linear& linear,
                            const config::Gpu& gpu);

PassSeconds embedding_seconds(const ModelSetting& setting, const config::Gpu& gpu);
PassSeconds head_seconds(const ModelSetting& setting,
                         const config::Gpu& gpu);  // output matrix and loss

// The optimizer's step over so many parameters: it reads gradients, reads and writes its state,
// writes weights.
double optimizer_seconds(const config::Training& training, double parameters,
                         const config::Gpu& gpu);

}  // namespace pipewright::workload
