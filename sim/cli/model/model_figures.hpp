#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/config/model.hpp"
#include "sim/workload/shape/shape.hpp"

// What `pipewright model` says of models, as rows of its tables.
namespace pipewright::cli {

struct ModelSize {
  std::string name;
  std::uint64_t parameters = 0;
  std::uint64_t active = 0;  // of them, that work on one token
  std::uint32_t sequence = 0;
  double flops_per_token = 0;  // forward and backward, causal attention counted once
  double full_attention_flops_per_token = 0;
};
// With sequences of the model's own length, or of `sequence` tokens.
ModelSize size_of(const config::Model& model, std::uint32_t sequence);
inline ModelSize size_of(const config::Model& model) { return size_of(model, model.sequence); }

// A kind of part on one GPU: of each of them parameters, bytes of their state before ZeRO cuts it,
// and bytes that a microbatch leaves.
struct PartBytes {
  std::string part;
  std::uint32_t count = 1;
  std::uint64_t parameters = 0;
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double working = 0;  // beside these while its backward pass runs
};
// Embedding, layers by kind, head; and all of the model on one GPU.
std::vector<PartBytes> part_bytes(const workload::ModelSetting& setting);

// A kernel, or several alike one after the other, with what each takes.
struct KernelRow {
  std::string pass;  // F, I or W
  std::string part;
  std::string kernel;
  std::uint32_t times = 1;
  std::string type;
  std::string shape;  // of a product: rows x columns x inner, and how many at once
  double flops = 0;
  double bytes = 0;
  double seconds = 0;
  std::string bound;
  std::vector<std::string> assumed;  // keys of the GPU's file without a source
};
// A pass through a part: its kernels one after the other, and not before the host launches them.
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
std::vector<PartTimes> part_times(const workload::ModelSetting& setting, const config::Gpu& gpu);

}  // namespace pipewright::cli
