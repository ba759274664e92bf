#include "sim/workload/figures/model_figures.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/workload/compute/assumed.hpp"
#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/compute/encoder_work.hpp"
#include "sim/workload/compute/flops.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/model/activation_memory.hpp"
#include "sim/workload/model/encoder_memory.hpp"
#include "sim/workload/model/state.hpp"
#include "sim/workload/shape/fine_tuning.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

constexpr const char* mtp_name = "multi-token prediction";
constexpr const char* encoder_layer_name = "layer of the encoder";

void set_state_bytes(const Parameters& parameters, const ModelSetting& setting, PartBytes& part) {
  const DeviceState state = state_of(parameters, setting.training, {});
  part.parameters = parameters.total();
  part.weights = static_cast<double>(state.weights);
  part.gradients = static_cast<double>(state.gradients);
  part.optimizer = static_cast<double>(state.optimizer);
}

bool have_equal_costs(const Kernel& lhs, const Kernel& rhs) {
  return lhs.name == rhs.name && lhs.part == rhs.part && lhs.work == rhs.work &&
         lhs.type == rhs.type && lhs.rows == rhs.rows && lhs.columns == rhs.columns &&
         lhs.inner == rhs.inner && lhs.count == rhs.count && lhs.flops == rhs.flops &&
         lhs.keys == rhs.keys && lhs.backward == rhs.backward && lhs.bytes == rhs.bytes;
}

bool multiplies(const Kernel& kernel) {
  using Work = Kernel::Work;
  return kernel.work != Work::memory && kernel.work != Work::recurrence &&
         kernel.work != Work::collective;
}

std::string shape_of_kernel(const Kernel& kernel) {
  if (!multiplies(kernel)) return "";
  if (kernel.work == Kernel::Work::attention) return fmt::format("{:.0f} keys", kernel.keys);
  const std::string shape =
      fmt::format("{:.0f} x {:.0f} x {:.0f}", kernel.rows, kernel.columns, kernel.inner);
  return kernel.count == 1 ? shape : fmt::format("{:.0f} of {}", kernel.count, shape);
}

KernelRow kernel_row(const Kernel& kernel, const char* pass, const config::Gpu& gpu) {
  const KernelTime time = kernel_time(kernel, gpu);
  return {.pass = pass,
          .part = std::string(name_of(kernel.part)),
          .kernel = std::string(kernel.name),
          .times = kernel.times,
          .type = multiplies(kernel) ? std::string(config::name_of(kernel.type)) : "",
          .shape = shape_of_kernel(kernel),
          .flops = kernel.flops,
          .bytes = kernel.bytes,
          .seconds = time.seconds,
          .bound = std::string(name_of(time.bound)),
          .assumed = assumed_for(kernel, gpu)};
}

void add_pass_times(const char* pass, const std::vector<Kernel>& kernels,
                    const ModelSetting& setting, const config::Gpu& gpu, PartTimes& times) {
  if (kernels.empty()) return;
  const Launches launched = launches(kernels);
  PassRow sum{.part = times.part,
              .pass = pass,
              .kernels = static_cast<std::uint32_t>(launched.total()),
              .host_seconds = launch_seconds(setting.training, launched, gpu)};
  const Kernel* last = nullptr;
  for (const Kernel& kernel : kernels) {
    KernelRow row = kernel_row(kernel, pass, gpu);
    sum.kernel_seconds += kernel.times * row.seconds;
    for (const std::string& key : row.assumed)
      if (std::ranges::find(sum.assumed, key) == sum.assumed.end()) sum.assumed.push_back(key);
    if (last != nullptr && have_equal_costs(*last, kernel))
      times.kernels.back().times += kernel.times;
    else
      times.kernels.push_back(std::move(row));
    last = &kernel;
  }
  sum.is_host_bound = sum.host_seconds > sum.kernel_seconds;
  if (sum.is_host_bound) {
    sum.assumed = assumed_launches(setting.training.stack);
  }
  times.passes.push_back(std::move(sum));
}

// Returns those kernels of a forward pass that recomputation repeats before I. Where half of the
// products are recomputed, it is every second one.
std::vector<Kernel> recomputed_kernels(const std::vector<Kernel>& forward,
                                       const ModelSetting& setting) {
  std::vector<Kernel> kernels;
  double due = 0;
  for (const Kernel& kernel : forward) {
    due += share_repeated(setting, kernel.part, kernel.work);
    if (due < 1) continue;
    due -= 1;
    kernels.push_back(kernel);
  }
  return kernels;
}

PartTimes times_of_part(std::string part, const PassKernels& kernels, const ModelSetting& setting,
                        const config::Gpu& gpu, bool is_layer = false, bool can_recompute = true) {
  PartTimes times{.part = std::move(part), .is_layer = is_layer};
  add_pass_times("F", kernels.forward, setting, gpu, times);
  if (is_layer && can_recompute)
    add_pass_times("R", recomputed_kernels(kernels.forward, setting), setting, gpu, times);
  add_pass_times("I", kernels.input_grad, setting, gpu, times);
  add_pass_times("W", kernels.weight_grad, setting, gpu, times);
  return times;
}

}  // namespace

ModelSize model_size(const config::Model& model, std::uint32_t sequence,
                     const config::Training& training) {
  const auto of_token = [&](AttentionPairs pairs) {
    return training_flops(model, training, 1, sequence, pairs) / sequence;
  };
  return {.name = model.name,
          .parameters = parameter_count(model),
          .active = active_parameter_count(model),
          .sequence = sequence,
          .flops_per_token = of_token(AttentionPairs::causal),
          .full_attention_flops_per_token = of_token(AttentionPairs::full)};
}

std::vector<PartBytes> part_bytes(const ModelSetting& setting) {
  const config::Model& model = setting.model;
  std::vector<PartBytes> parts;
  PartBytes total{.part = "all"};
  const auto add = [&](PartBytes part, const Parameters& parameters,
                       const ActivationBytes& activations) {
    set_state_bytes(parameters, setting, part);
    part.activations = activations.held;
    part.working = activations.working;
    total.parameters += part.count * part.parameters;
    total.weights += part.count * part.weights;
    total.gradients += part.count * part.gradients;
    total.optimizer += part.count * part.optimizer;
    total.activations += part.count * part.activations;
    total.working = std::max(total.working, part.working);
    parts.push_back(std::move(part));
  };
  if (const auto encoder = encoder_of(setting)) {
    const std::vector<Parameters> parameters = encoder_parameters(*encoder);
    const std::vector<ActivationBytes> activations = encoder_bytes(*encoder);
    add({.part = "patch embedding"}, parameters.front(), activations.front());
    add({.part = encoder_layer_name, .count = encoder->shape.layers}, parameters[1],
        activations[1]);
    add({.part = "projector"}, parameters.back(), activations.back());
  }
  const std::uint64_t embedding = embedding_parameters(model, setting.sizes);
  const auto of_group = [&](config::WeightGroup group, Parameters parameters) {
    if (setting.training.freezes(group)) parameters.freeze();
    return parameters;
  };
  add({.part = "embedding"},
      of_group(config::WeightGroup::embedding,
               {.dense = embedding + position_parameters(model, setting.sizes),
                .vocabulary = embedding}),
      embedding_bytes(setting));
  for (const LayerKind kind : kinds_of(model))
    add({.part = std::string(name_of(kind)), .count = layers_of(model, kind)},
        layer_parameters(setting, kind), layer_bytes(setting, kind));
  if (const std::uint32_t sets = mtp_weight_sets(model, model.mtp_layers); sets > 0) {
    ActivationBytes modules = mtp_bytes(setting);
    modules.held *= static_cast<double>(model.mtp_layers) / sets;
    add({.part = mtp_name, .count = sets}, mtp_parameters(setting), modules);
  }
  ActivationBytes head = head_bytes(setting);
  head.held += logits_bytes(setting);
  head.held *= 1 + model.mtp_layers;
  Parameters of_head =
      of_group(config::WeightGroup::head, {.dense = head_parameters(model, setting.sizes),
                                           .vocabulary = model.tied_embeddings ? 0 : embedding});
  add_other_type(setting, Part::head, static_cast<double>(embedding), of_head);
  add({.part = "head"}, of_head, head);
  parts.push_back(std::move(total));
  return parts;
}

std::vector<PartTimes> part_times(const ModelSetting& setting, const config::Gpu& gpu) {
  std::vector<PartTimes> parts;
  if (const auto encoder = encoder_of(setting)) {
    const ModelSetting own_setting = encoder->setting();
    PassKernels layer = layer_kernels(own_setting, LayerKind::dense);
    if (!encoder->trains_layers) layer = {.forward = std::move(layer.forward)};
    parts.push_back(times_of_part("patch embedding", patch_kernels(*encoder), own_setting, gpu));
    parts.push_back(
        times_of_part(encoder_layer_name, layer, own_setting, gpu, true, encoder->trains_layers));
    parts.push_back(times_of_part("projector", projector_kernels(*encoder), own_setting, gpu));
  }
  for (const LayerKind kind : kinds_of(setting.model))
    parts.push_back(times_of_part(std::string(name_of(kind)), layer_kernels(setting, kind), setting,
                                  gpu, true));
  parts.push_back(times_of_part("embedding", embedding_kernels(setting), setting, gpu));
  if (setting.model.mtp_layers > 0)
    parts.push_back(times_of_part(mtp_name, mtp_kernels(setting), setting, gpu));
  parts.push_back(times_of_part("head", head_kernels(setting), setting, gpu));
  return parts;
}

}  // namespace pipewright::workload
