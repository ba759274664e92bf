#pragma once

#include <vector>

#include "sim/config/fine_tuning.hpp"
#include "sim/workload/shape/shape.hpp"

// Weights that fine-tuning trains: the adapters of LoRA, and weights that are not frozen.
namespace pipewright::workload {

// Returns the group of the weights of a part's products.
config::WeightGroup group_of(Part part);
// Returns whether the weights of a part's products are frozen.
bool is_frozen(const config::Training& training, Part part);
// Returns whether the head's output matrix is frozen, which may be that of the embedding.
bool has_frozen_head(const ModelSetting& setting);

// Adapter of a product with a matrix on one GPU: the product of the same input with A, whose
// outputs are the rank, and of its result with B. Megatron-Bridge cuts them over tp like this
// (ParallelLinearAdapter of megatron/bridge/peft/utils.py): if the matrix is cut by outputs, so are
// A and B, and the results of A are gathered; if it is cut by inputs, so is A, whose results are
// summed, and B is cut by outputs, whose results are gathered.
struct Adapter {
  Linear a;
  Linear b;
  std::uint32_t ranks = 1;  // over which the adapter is cut
  bool cut_by_inputs = false;
};
// Returns whether the adapters of a part belong to single experts. One adapter for the experts of
// all ranks is reduced like a dense matrix.
bool is_adapter_of_expert(const config::Training& training, Part part);
// Returns the adapters of a product of a layer; empty if it has none.
std::vector<Adapter> adapters_of(const ModelSetting& setting, const Linear& linear);

// Return the parameters of a layer, and of a multi-token prediction module, with those of adapters,
// and how many of them are frozen.
Parameters layer_parameters(const ModelSetting& setting, LayerKind kind);
Parameters mtp_parameters(const ModelSetting& setting);
// Returns the number of weight tensors of a layer that are trained: two of each adapter, and those
// of trained groups.
std::uint64_t trained_tensors(const ModelSetting& setting, LayerKind kind);
// Returns whether the lowest layers need no gradients of their inputs: the embedding is frozen, and
// no checkpoint and no trained encoder of images asks for the gradient of a layer's input.
bool lacks_lowest_gradients(const config::Training& training);
// Returns how many layers at the start of the model have no backward pass: neither they nor what is
// below them trains anything. This counts only on the first stage. Later stages compute all
// gradients, since frameworks ask for the gradient of each received tensor
// (create_tensor_recv_prev in megatron/core/pipeline_parallel/p2p_communication.py, stage.py of
// PyTorch's pipelines).
std::uint32_t layers_below_training(const ModelSetting& setting);
// Returns whether multi-token prediction modules train something.
bool trains_mtp(const ModelSetting& setting);
// Returns the bytes of the largest matrix of a layer that is dequantized before its products.
double dequantized_bytes(const ModelSetting& setting, LayerKind kind);

}  // namespace pipewright::workload
