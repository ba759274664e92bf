#include "sim/workload/compute/pass_seconds.hpp"

#include <algorithm>

#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/compute/recompute.hpp"

namespace pipewright::workload {
namespace {

using config::Gpu;
using Kernels = std::vector<Kernel>;

// The kernels one after the other, and not before the host has launched them.
class Clocked {
 public:
  Clocked(const ModelSetting& setting, const Gpu& gpu) : gpu_(gpu), training_(setting.training) {}

  // `share` of each kernel's work.
  template <class Share>
  double seconds(const Kernels& kernels, const Share& share) const {
    double busy = 0;
    double launches = 0;
    for (const Kernel& kernel : kernels) {
      const double part = share(kernel);
      if (part == 0) continue;
      busy += part * kernel_time(kernel, gpu_).seconds;
      launches += part;
    }
    return std::max(busy, launch_seconds(training_, launches, gpu_));
  }
  double seconds(const Kernels& kernels) const {
    return seconds(kernels, [](const Kernel&) { return 1.0; });
  }
  PassSeconds seconds(const PassKernels& kernels) const {
    return {.forward = seconds(kernels.forward),
            .input_grad = seconds(kernels.input_grad),
            .weight_grad = seconds(kernels.weight_grad)};
  }

 private:
  const Gpu& gpu_;
  const config::Training& training_;
};

}  // namespace

PassSeconds product_seconds(const ModelSetting& setting, const Linear& linear, const Gpu& gpu) {
  return Clocked(setting, gpu).seconds(linear_kernels(setting, linear));
}

PassSeconds attention_seconds(const ModelSetting& setting, const Attention& attention,
                              const Gpu& gpu) {
  return Clocked(setting, gpu).seconds(attention_kernels(setting, attention));
}

PassSeconds layer_seconds(const ModelSetting& setting, LayerKind kind, const Gpu& gpu) {
  const Clocked clocked(setting, gpu);
  const PassKernels kernels = layer_kernels(setting, kind);
  PassSeconds seconds = clocked.seconds(kernels);
  seconds.recomputed = clocked.seconds(kernels.forward, [&](const Kernel& kernel) {
    return share_recomputed(setting.training.recompute, kernel.part, kernel.work);
  });
  return seconds;
}

PassSeconds embedding_seconds(const ModelSetting& setting, const Gpu& gpu) {
  return Clocked(setting, gpu).seconds(embedding_kernels(setting));
}

PassSeconds head_seconds(const ModelSetting& setting, const Gpu& gpu) {
  return Clocked(setting, gpu).seconds(head_kernels(setting));
}

double optimizer_seconds(const config::Training& training, double parameters, const Gpu& gpu) {
  const config::ParameterBytes& bytes = training.bytes;
  // Scaled weights are cast once an iteration.
  const config::DataType type = training.precision;
  const double cast = config::is_scaled(type) ? 2 + 2 * config::element_bytes(type) : 0;
  return memory_seconds(
      gpu, parameters * (bytes.gradients + 2 * bytes.optimizer + weight_bytes(training) + cast));
}

}  // namespace pipewright::workload
