#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/config/model.hpp"
#include "sim/workload/shape/shape.hpp"

// Sizes and times of a model by part, pass and kernel, as the rows of tables.
namespace pipewright::workload {

struct ModelSize {
  std::string name;
  std::uint64_t parameters = 0;
  std::uint64_t active = 0;  // parameters that one token uses
  std::uint32_t sequence = 0;
  double flops_per_token = 0;  // forward and backward, causal attention counted once
  double full_attention_flops_per_token = 0;
};
// Returns the size of a model, with sequences of `sequence` tokens, or of the model's own length in
// the second function. With `training`, the FLOP are those of what is trained.
ModelSize model_size(const config::Model& model, std::uint32_t sequence,
                     const config::Training& training = {});
inline ModelSize model_size(const config::Model& model) {
  return model_size(model, model.sequence);
}

// Memory of one kind of part on one GPU: the parameters of each such part, the bytes of their state
// before ZeRO shards it, and the activations of a microbatch.
struct PartBytes {
  std::string part;
  std::uint32_t count = 1;
  std::uint64_t parameters = 0;
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double working = 0;  // additional bytes during its backward pass
};
// Returns a row for each part of the encoder of images, for the embedding, for each kind of layer,
// for the head, and for the whole model on one GPU.
std::vector<PartBytes> part_bytes(const ModelSetting& setting);

// A kernel, or several equal ones in a row, with the cost of each.
struct KernelRow {
  std::string pass;  // F, I or W
  std::string part;
  std::string kernel;
  std::uint32_t times = 1;
  std::string type;
  std::string shape;  // shape of a product: rows x columns x inner, and the number of products
  double flops = 0;
  double bytes = 0;
  double seconds = 0;
  std::string bound;
  std::vector<std::string> assumed;  // keys of the GPU's file that have no source
};
// A pass through a part of the model. Its kernels run one after the other, each after the host has
// launched it.
struct PassRow {
  std::string part;
  std::string pass;
  std::uint32_t kernels = 0;
  double kernel_seconds = 0;
  double host_seconds = 0;
  bool is_host_bound = false;
  std::vector<std::string> assumed;

  double seconds() const { return is_host_bound ? host_seconds : kernel_seconds; }
};
struct PartTimes {
  std::string part;
  bool is_layer = false;
  std::vector<KernelRow> kernels;
  std::vector<PassRow> passes;
};
std::vector<PartTimes> part_times(const ModelSetting& setting, const config::Gpu& gpu);

}  // namespace pipewright::workload
