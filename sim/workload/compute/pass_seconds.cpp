#include "sim/workload/compute/pass_seconds.hpp"

#include <algorithm>

#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

using config::Gpu;
using Kernels = std::vector<Kernel>;

// Returns the seconds of kernels of which only a share of the work is done; share(kernel) is that
// share.
template <class Share>
double kernel_seconds(const Kernels& kernels, const Gpu& gpu, const Share& share) {
  double seconds = 0;
  for (const Kernel& kernel : kernels)
    if (const double part = share(kernel); part > 0)
      seconds += part * kernel.times * kernel_time(kernel, gpu).seconds;
  return seconds;
}

double whole_kernel(const Kernel&) { return 1; }

PassSeconds kernel_seconds(const PassKernels& kernels, const Gpu& gpu) {
  return {.forward = kernel_seconds(kernels.forward, gpu, whole_kernel),
          .input_grad = kernel_seconds(kernels.input_grad, gpu, whole_kernel),
          .weight_grad = kernel_seconds(kernels.weight_grad, gpu, whole_kernel)};
}

}  // namespace

PartSeconds part_seconds(const ModelSetting& setting, const PassKernels& kernels, const Gpu& gpu) {
  const auto launches = [&](const Kernels& pass_kernels) {
    return launch_seconds(setting.training, workload::launches(pass_kernels), gpu);
  };
  return {.kernels = kernel_seconds(kernels, gpu),
          .launches = {.forward = launches(kernels.forward),
                       .input_grad = launches(kernels.input_grad),
                       .weight_grad = launches(kernels.weight_grad)}};
}

namespace {

// Lets the GPU wait for launches within a layer. A host that waits for the GPU once in each layer
// cannot launch ahead, so the kernels of other layers do not hide the launches of this layer.
void wait_in_layer(const ModelSetting& setting, const Kernels& forward, PartSeconds& seconds) {
  const auto stalls = [](const Kernel& kernel) { return kernel.stall_s > 0; };
  if (std::ranges::none_of(forward, stalls)) return;
  PassSeconds& kernels = seconds.kernels;
  kernels.forward = std::max(kernels.forward, seconds.launches.forward);
  if (share_repeated(setting, Part::router, Kernel::Work::memory) > 0)
    kernels.recomputed = std::max(kernels.recomputed, seconds.launches.recomputed);
}

// Returns the seconds of a layer's passes, including those of the forward kernels that backward
// passes recompute.
PartSeconds recomputed_seconds(const ModelSetting& setting, LayerKind kind,
                               const PassKernels& kernels, const Gpu& gpu) {
  PartSeconds seconds = part_seconds(setting, kernels, gpu);
  Launches launches = random_states(setting, kind);
  seconds.kernels.recomputed = kernel_seconds(kernels.forward, gpu, [&](const Kernel& kernel) {
    const double share = share_repeated(setting, kernel.part, kernel.work);
    launches.add(kernel, share);
    return share;
  });
  seconds.launches.recomputed = launch_seconds(setting.training, launches, gpu);
  wait_in_layer(setting, kernels.forward, seconds);
  return seconds;
}

PassSeconds seconds_of(const ModelSetting& setting, LayerKind kind, PassKernels kernels,
                       const Gpu& gpu, bool (*includes)(Part part)) {
  for (Kernels* const pass_kernels : {&kernels.forward, &kernels.input_grad, &kernels.weight_grad})
    std::erase_if(*pass_kernels, [&](const Kernel& kernel) { return !includes(kernel.part); });
  return recomputed_seconds(setting, kind, kernels, gpu).kernels;
}

}  // namespace

PassSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const Gpu& gpu,
                          bool (*includes)(Part part)) {
  return seconds_of(setting, kind, layer_kernels(setting, kind), gpu, includes);
}

PassSeconds mtp_seconds(const ModelSetting& setting, const Gpu& gpu, bool (*includes)(Part part)) {
  return seconds_of(setting, kind_of_mtp(setting.model), mtp_kernels(setting), gpu, includes);
}

PassSeconds product_seconds(const ModelSetting& setting, const Linear& linear, const Gpu& gpu) {
  return kernel_seconds(linear_kernels(setting, linear), gpu);
}

PassSeconds attention_seconds(const ModelSetting& setting, const Attention& attention,
                              const Gpu& gpu) {
  return kernel_seconds(attention_kernels(setting, attention), gpu);
}

PartSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const Gpu& gpu) {
  return recomputed_seconds(setting, kind, layer_kernels(setting, kind), gpu);
}

PartSeconds mtp_seconds(const ModelSetting& setting, const Gpu& gpu) {
  return recomputed_seconds(setting, kind_of_mtp(setting.model), mtp_kernels(setting), gpu);
}

PartSeconds lowest_excess(const ModelSetting& setting, const Kernels& input_grad, const Gpu& gpu) {
  PassKernels whole;
  whole.input_grad = input_grad;
  PassKernels rest = whole;
  drop_lowest_gradients(setting.training, rest.input_grad);
  return part_seconds(setting, whole, gpu) - part_seconds(setting, rest, gpu);
}

PassSeconds lowest_excess(const ModelSetting& setting, const Kernels& input_grad, const Gpu& gpu,
                          bool (*includes)(Part part)) {
  Kernels rest = input_grad;
  drop_lowest_gradients(setting.training, rest);
  const auto share = [&](const Kernel& kernel) { return includes(kernel.part) ? 1.0 : 0.0; };
  return {.input_grad = kernel_seconds(input_grad, gpu, share) - kernel_seconds(rest, gpu, share)};
}

PartSeconds embedding_seconds(const ModelSetting& setting, const Gpu& gpu) {
  return part_seconds(setting, embedding_kernels(setting), gpu);
}

PartSeconds head_seconds(const ModelSetting& setting, const Gpu& gpu) {
  return part_seconds(setting, head_kernels(setting), gpu);
}

double optimizer_seconds(const config::Training& training, double parameters, const Gpu& gpu,
                         double other_bytes) {
  // Weights of a scaled type, such as FP8, are cast once per iteration, after the update.
  const config::DataType type = training.precision;
  const double cast = config::cast_bytes(type);
  using MainParams = config::Optimizer::MainParams;
  const bool joined =
      !training.bytes.optimizer && training.optimizer.main_params == MainParams::remainders;
  // The optimizer stores only the lower halves of the main parameters and reads the upper halves
  // from the bf16 weights. Weights of 32 bits are the main parameters themselves.
  const bool has_no_copy = !training.bytes.optimizer && config::has_32_bits(type);
  const double read_weights = joined ? 2 : has_no_copy ? weight_bytes(training) : 0;
  // Without fusion each of Adam's seven operations reads and writes its tensors of fp32 (PyTorch's
  // foreach implementation): 72 bytes per parameter instead of 28.
  const double between = training.stack.fuses(config::Fusable::optimizer) ? 0 : 72 - 28;
  return memory_seconds(gpu, parameters * (between + config::gradient_bytes(training) +
                                           2 * config::optimizer_bytes(training) +
                                           weight_bytes(training) + read_weights + cast) +
                                 other_bytes);
}

double adafactor_seconds(double parameters, const Gpu& gpu) {
  // Norms of the parameter, the rows, the columns and the update (16), decay (8), the estimate (4),
  // its division, limit and root (24), its product with the gradient (12), the update (12) and the
  // copy into the weights (6).
  constexpr double bytes = 16 + 8 + 4 + 24 + 12 + 12 + 6;
  return memory_seconds(gpu, parameters * bytes);
}

}  // namespace pipewright::workload
