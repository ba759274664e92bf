#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/workload/compute/kernels.hpp"

// Kernels of operations that are no matrix product, from which the kernels of layers, of the
// embedding and of the head are assembled.
//
// Numeric factors of bytes count the bytes that a kernel reads and writes per element of a tensor:
// 2 for each access to a 16-bit element, 1 for each access to a mask. Where tensors have 32 bits,
// width_of() multiplies the bytes of elements, and no kernel casts between 16 and 32 bits.
namespace pipewright::workload {

// Returns whether the activations of the recipe have 32 bits.
bool has_32_bits(const ModelSetting& setting);
// Returns the bytes of an element of an activation, in units of 16 bits.
double width_of(const ModelSetting& setting);
// Returns the bytes per element of a kernel that accesses so many elements and masks.
double masked_bytes(const ModelSetting& setting, double elements, double masks);

void add_collective(std::vector<Kernel>& kernels, Part part, std::string_view name);
// Adds one kernel for each of `bytes`, the bytes per element that the kernels move.
void add_each(std::vector<Kernel>& kernels, Part part, std::string_view name,
              std::span<const double> bytes, double elements);
void append_passes(const PassKernels& addition, PassKernels& kernels);

// Bytes per element of the kernels of an operation on tensors of 16 bits. A stack that does not
// fuse it launches PyTorch's kernels one by one (torch/nn/functional.py, eager mode), with tensors
// between them.
struct SmallKernels {
  std::span<const double> forward;
  std::span<const double> backward;
};
void add_small_kernels(const SmallKernels& operation, Part part, std::string_view name,
                       double elements, PassKernels& kernels);

// Returns the kernels of a norm of the model, fused or one by one.
SmallKernels norm_of(const ModelSetting& setting);
void add_norm_kernels(const ModelSetting& setting, Part part, double elements,
                      PassKernels& kernels);
// Adds a norm of the residual stream.
void add_norm_kernels(const ModelSetting& setting, Part part, PassKernels& kernels);
// Adds the norm of the result of attention or of an MLP, before the residual addition.
void add_post_norm_kernels(const ModelSetting& setting, PassKernels& kernels);
// Adds what comes after a mixer or an MLP: the residual addition, or the mixing of streams.
void add_result_kernels(const ModelSetting& setting, PassKernels& kernels);
// Adds an activation function. Without fusion, the function of a gated MLP and the product with the
// gate are separate kernels.
void add_activation_kernels(const ModelSetting& setting, Part part, const Activation& activation,
                            PassKernels& kernels);
// Adds a rotary embedding. Without fusion it casts to fp32, multiplies and casts back.
void add_rotary_kernels(const ModelSetting& setting, double elements, PassKernels& kernels);

}  // namespace pipewright::workload
