#include "sim/workload/plan/device_kernels.hpp"

#include <utility>

#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/compute/encoder_work.hpp"
#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/compute/recompute.hpp"
#include "sim/workload/model/stage_partition.hpp"
#include "sim/workload/model/stage_sums.hpp"
#include "sim/workload/shape/precision.hpp"

namespace pipewright::workload {
namespace {

using Work = Kernel::Work;

void add_kernel(const Kernel& kernel, const config::Gpu& gpu, double times, DeviceKernels& sums) {
  times *= kernel.times;
  if (times == 0 || kernel.work == Work::collective) return;
  const bool is_memory_bound = kernel.work == Work::memory || kernel.work == Work::recurrence;
  KernelTotal& total = is_memory_bound                  ? sums.memory
                       : kernel.work == Work::attention ? sums.attention
                                                        : sums.products;
  total.kernels += times;
  total.seconds += times * kernel_time(kernel, gpu).seconds;
}

void add_kernels(const PassKernels& passes, const config::Gpu& gpu, DeviceKernels& sums) {
  for (const auto* const kernels : {&passes.forward, &passes.input_grad, &passes.weight_grad})
    for (const Kernel& kernel : *kernels) add_kernel(kernel, gpu, 1, sums);
}

void add_encoder(const Encoder& encoder, const config::Gpu& gpu, DeviceKernels& sums) {
  const ModelSetting own_setting = encoder.setting();
  add_kernels(patch_kernels(encoder), gpu, sums);
  add_kernels(projector_kernels(encoder), gpu, sums);
  PassKernels layer = layer_kernels(own_setting, LayerKind::dense);
  if (!encoder.trains_layers) layer = {.forward = std::move(layer.forward)};
  for (std::uint32_t index = 0; index < encoder.shape.layers; ++index) {
    add_kernels(layer, gpu, sums);
    if (!encoder.trains_layers ||
        !is_recomputed(own_setting.training.recompute, {0, encoder.shape.layers}, index))
      continue;
    for (const Kernel& kernel : layer.forward)
      add_kernel(kernel, gpu, share_repeated(own_setting, kernel.part, kernel.work), sums);
  }
}

}  // namespace

std::vector<DeviceKernels> device_kernels(const config::Scenario& scenario,
                                          const schedules::Schedule& schedule, const Gpus& gpus) {
  const ModelJob job = model_job(scenario, gpus);
  const DeviceSettings settings(job.model, job.training, job.parallel, job.communication);
  const config::Recompute& recompute = job.training.recompute;
  std::vector<DeviceKernels> sums(gpus.size());
  const std::vector<StageParts> stages = model_partition(job, schedule.routes);
  for (std::uint32_t stage = 0; stage < schedule.stages(); ++stage) {
    const std::uint32_t device = schedule.routes.device(stage, 0);
    const config::Gpu& gpu = gpus[device];
    const ModelSetting& setting = settings[device];
    const LayerRange& layers = stages[stage].layers;
    for (std::uint32_t layer = layers.first; layer < layers.first + layers.count; ++layer) {
      const PassKernels kernels =
          layer_kernels(setting_of_layer(setting, layer), kind_of_layer(job.model, layer));
      add_kernels(kernels, gpu, sums[device]);
      if (!is_recomputed(recompute, layers, layer)) continue;
      for (const Kernel& kernel : kernels.forward)
        add_kernel(kernel, gpu, share_repeated(setting, kernel.part, kernel.work), sums[device]);
    }
    if (const auto encoder = stages[stage].encoder ? encoder_of(setting) : std::nullopt)
      add_encoder(*encoder, gpu, sums[device]);
    if (stages[stage].embedding) add_kernels(embedding_kernels(setting), gpu, sums[device]);
    for (std::uint32_t module = 0; module < stages[stage].mtp; ++module) {
      const PassKernels kernels = mtp_kernels(setting);
      add_kernels(kernels, gpu, sums[device]);
      for (const Kernel& kernel : kernels.forward)
        add_kernel(kernel, gpu, share_repeated(setting, kernel.part, kernel.work), sums[device]);
    }
    for (std::uint32_t run = 0; stages[stage].head && run <= job.model.mtp_layers; ++run)
      add_kernels(head_kernels(setting), gpu, sums[device]);
  }
  return sums;
}

}  // namespace pipewright::workload
