#include "sim/workload/compute/small_kernels.hpp"

#include <array>

namespace pipewright::workload {
namespace {

using config::GraphModule;
using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

constexpr std::array<double, 1> norm_forward{4};
constexpr std::array<double, 1> norm_backward{8};
// Without fusion an RMSNorm casts to fp32, squares, averages, scales, casts back and multiplies by
// its weight. PyTorch's layer norm is one kernel in any case.
constexpr std::array<double, 6> rms_norm_forward{6, 8, 4, 8, 6, 4};
constexpr std::array<double, 7> rms_norm_backward{4, 4, 6, 8, 8, 12, 6};
// The same of fp32 tensors, without casts, in units of 16 bits.
constexpr std::array<double, 4> wide_rms_norm_forward{4, 2, 4, 4};
constexpr std::array<double, 5> wide_rms_norm_backward{4, 4, 4, 4, 6};

void add_residual_kernels(const ModelSetting& setting, PassKernels& kernels) {
  const double elements = setting.sizes.spread_tokens * setting.model.hidden;
  const bool dropout = setting.model.dropout > 0;
  const bool fused = setting.training.stack.fuses(config::Fusable::residual);
  const double dropout_bytes = dropout ? masked_bytes(setting, 2, 1) * elements : 0;
  if (!fused) add_memory(kernels.forward, Part::residual, "dropout", dropout_bytes);
  add_memory(kernels.forward, Part::residual, "add",
             masked_bytes(setting, 3, dropout && fused ? 1 : 0) * elements);
  add_memory(kernels.input_grad, Part::residual, "dropout", dropout_bytes);
}

// Adds the rotary embedding of packed documents without fusion. Megatron-Core reads the lengths of
// the documents on the host, so that the GPU waits for the next launch, and rotates queries and
// keys document by document (_apply_rotary_pos_emb_thd of
// megatron/core/models/common/embeddings/rope_utils.py, July 2026). A document takes operations for
// cosine and sine (6), two products, the other half (2), a sum and two copies; their gradients take
// as many but for those of cosine and sine, and three copies more.
void add_document_rotations(const ModelSetting& setting, double elements, PassKernels& kernels) {
  constexpr std::uint32_t tensors = 2;
  constexpr std::uint32_t reads = 2;  // of the lengths and of their sum
  constexpr double forward = 13;
  constexpr double backward = 10;
  constexpr double lengths_bytes = 8;
  const bool is_captured = setting.training.cuda_graphs.capture_all() ||
                           setting.training.cuda_graphs.has(GraphModule::attn);
  if (!is_captured)
    kernels.forward.push_back({.name = "lengths to host",
                               .times = tensors * reads,
                               .part = Part::rotary,
                               .bytes = lengths_bytes * setting.sizes.documents,
                               .stall_s = setting.training.stack.host.of_operation(),
                               .is_operation = true});
  const auto add = [&](Kernels& pass, double operations, double bytes) {
    add_memory(pass, Part::rotary, "rotary", bytes * elements);
    pass.back().is_operation = true;
    pass.back().looped =
        static_cast<std::uint32_t>(tensors * operations * setting.sizes.documents) - 1;
  };
  constexpr double bytes = 6 + 8 + 6;
  add(kernels.forward, forward, bytes);
  add(kernels.input_grad, backward, bytes);
}

}  // namespace

bool has_32_bits(const ModelSetting& setting) {
  return config::has_32_bits(setting.training.precision);
}

double width_of(const ModelSetting& setting) { return has_32_bits(setting) ? 2 : 1; }

double masked_bytes(const ModelSetting& setting, double elements, double masks) {
  return 2 * width_of(setting) * elements + masks;
}

void add_memory(Kernels& kernels, Part part, std::string_view name, double bytes) {
  if (bytes > 0)
    kernels.push_back({.name = name, .part = part, .work = Work::memory, .bytes = bytes});
}

void add_collective(Kernels& kernels, Part part, std::string_view name) {
  kernels.push_back({.name = name, .part = part, .work = Work::collective});
}

void add_each(Kernels& kernels, Part part, std::string_view name, std::span<const double> bytes,
              double elements) {
  for (const double bytes_per_element : bytes)
    add_memory(kernels, part, name, bytes_per_element * elements);
}

void add_small_kernels(const SmallKernels& operation, Part part, std::string_view name,
                       double elements, PassKernels& kernels) {
  add_each(kernels.forward, part, name, operation.forward, elements);
  add_each(kernels.input_grad, part, name, operation.backward, elements);
}

void append_passes(const PassKernels& addition, PassKernels& kernels) {
  const auto append = [](const Kernels& source, Kernels& target) {
    target.insert(target.end(), source.begin(), source.end());
  };
  append(addition.forward, kernels.forward);
  append(addition.input_grad, kernels.input_grad);
  append(addition.weight_grad, kernels.weight_grad);
}

SmallKernels norm_of(const ModelSetting& setting) {
  const bool fused = setting.training.stack.fuses(config::Fusable::norm) ||
                     setting.model.norm == config::Model::Norm::layernorm;
  if (fused) return {norm_forward, norm_backward};
  if (has_32_bits(setting)) return {wide_rms_norm_forward, wide_rms_norm_backward};
  return {rms_norm_forward, rms_norm_backward};
}

void add_norm_kernels(const ModelSetting& setting, Part part, double elements,
                      PassKernels& kernels) {
  add_small_kernels(norm_of(setting), part, "norm", width_of(setting) * elements, kernels);
}

void add_norm_kernels(const ModelSetting& setting, Part part, PassKernels& kernels) {
  add_norm_kernels(setting, part, setting.sizes.spread_tokens * setting.model.hidden, kernels);
}

PassKernels norm_kernels(const ModelSetting& setting, Part part, double elements) {
  PassKernels kernels;
  add_norm_kernels(setting, part, elements, kernels);
  return kernels;
}

void add_post_norm_kernels(const ModelSetting& setting, PassKernels& kernels) {
  if (setting.model.post_norms) add_norm_kernels(setting, Part::post_norm, kernels);
}

void add_result_kernels(const ModelSetting& setting, PassKernels& kernels) {
  if (setting.model.residual_streams > 1)
    append_passes(stream_results(setting), kernels);
  else
    add_residual_kernels(setting, kernels);
}

void add_activation_kernels(const ModelSetting& setting, Part part, const Activation& activation,
                            PassKernels& kernels) {
  const double width = width_of(setting);
  constexpr std::array<double, 2> gated_forward{4, 6};
  constexpr std::array<double, 3> gated_backward{6, 6, 6};
  if (activation.gates > 0 && !setting.training.stack.fuses(config::Fusable::activation))
    return add_small_kernels({gated_forward, gated_backward}, part, "activation",
                             width * activation.outputs, kernels);
  add_memory(kernels.forward, part, "activation",
             width * (4 * activation.outputs + 2 * activation.gates));
  add_memory(kernels.input_grad, part, "activation",
             width * (6 * activation.outputs + 4 * activation.gates));
}

void add_rotary_kernels(const ModelSetting& setting, double elements, PassKernels& kernels) {
  constexpr std::array<double, 1> fused{4};
  constexpr std::array<double, 3> unfused{6, 8, 6};
  if (setting.training.stack.fuses(config::Fusable::rope) || has_32_bits(setting))
    return add_small_kernels({fused, fused}, Part::rotary, "rotary", width_of(setting) * elements,
                             kernels);
  if (setting.sizes.documents >= 1 && setting.training.stack.family == "megatron")
    return add_document_rotations(setting, elements, kernels);
  add_small_kernels({unfused, unfused}, Part::rotary, "rotary", elements, kernels);
}

}  // namespace pipewright::workload
