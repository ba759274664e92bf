#include "sim/workload/compute/graph_capture.hpp"

#include <algorithm>

#include "sim/workload/compute/expert_kernels.hpp"

namespace pipewright::workload {
namespace {

using config::GraphModule;
using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

// Returns the module of a mixture of experts that runs a kernel; the module moe contains the
// others. The modules are those of MoELayer (megatron/core/transformer/moe/moe_layer.py): route()
// and shared_experts_compute() belong to moe_router, preprocess() with the projection to latent
// experts and dispatch_preprocess() to moe_preprocess. The dispatcher alltoall alone permutes
// tokens in dispatch_preprocess(), and no graph of a part contains the copy to the host
// (megatron/core/transformer/moe/token_dispatcher.py).
GraphModule expert_module(const config::ExpertTraining& experts, const Kernel& kernel) {
  switch (kernel.part) {
    case Part::mlp_norm:
      return GraphModule::moe_router;
    case Part::router:
      if (kernel.name == copy_to_host) return GraphModule::moe;
      return kernel.name == token_splits ? GraphModule::moe_preprocess : GraphModule::moe_router;
    case Part::shared_in:
    case Part::shared_activation:
    case Part::shared_out:
      return experts.shared_overlap ? GraphModule::moe : GraphModule::moe_router;
    case Part::latent_in:
      return GraphModule::moe_preprocess;
    case Part::permute: {
      const bool permutes_first = experts.dispatcher == config::Dispatcher::alltoall;
      return permutes_first && kernel.work != Work::collective ? GraphModule::moe_preprocess
                                                               : GraphModule::moe;
    }
    default:
      return GraphModule::moe;
  }
}

// Marks the kernels that a CUDA graph captures: those for which is_captured(kernel) holds.
template <class IsCaptured>
void capture(PassKernels& kernels, const IsCaptured& is_captured) {
  for (Kernels* const pass : {&kernels.forward, &kernels.input_grad, &kernels.weight_grad})
    for (Kernel& kernel : *pass) kernel.captured = kernel.captured || is_captured(kernel);
}

}  // namespace

void capture_all(const ModelSetting& setting, PassKernels& kernels) {
  capture(kernels,
          [all = setting.training.cuda_graphs.capture_all()](const Kernel&) { return all; });
}

void capture_mixer(const ModelSetting& setting, Mixer mixer, PassKernels& kernels) {
  const auto module = mixer == Mixer::mamba ? GraphModule::mamba : GraphModule::attn;
  capture(kernels, [is_captured = setting.training.cuda_graphs.has(module)](const Kernel&) {
    return is_captured;
  });
}

void capture_feed_forward(const ModelSetting& setting, LayerKind kind, PassKernels& kernels) {
  const config::CudaGraphs& graphs = setting.training.cuda_graphs;
  capture(kernels, [&](const Kernel& kernel) {
    if (!has_experts(kind)) return graphs.has(GraphModule::mlp);
    return graphs.has(GraphModule::moe) ||
           graphs.has(expert_module(setting.training.experts, kernel));
  });
}

void add_stall(const ModelSetting& setting, Kernels& forward) {
  const config::CudaGraphs& graphs = setting.training.cuda_graphs;
  if (graphs.scope == config::CudaGraphs::Scope::iteration || graphs.has(GraphModule::moe)) return;
  const auto copy = std::ranges::find(forward, copy_to_host, &Kernel::name);
  const auto next = std::find_if(copy, forward.end(), [](const Kernel& kernel) {
    return kernel.part > Part::router && kernel.work != Work::memory;
  });
  const config::HostTimes& host = setting.training.stack.host;
  for (auto kernel = copy; kernel != next; ++kernel)
    if (graphs.capture_all() || !kernel->captured)
      copy->stall_s += kernel->work == Work::collective ? host.collective : host.kernel;
}

}  // namespace pipewright::workload
