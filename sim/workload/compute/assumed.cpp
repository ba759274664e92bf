#include "sim/workload/compute/assumed.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/compute/flops.hpp"

namespace pipewright::workload {
namespace {

using Work = Kernel::Work;

// Returns whether the keys are equal or one contains the other, as products.fp8 contains
// products.fp8.overhead.
bool keys_overlap(std::string_view left, std::string_view right) {
  const auto holds = [](std::string_view outer, std::string_view inner) {
    return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '.');
  };
  return holds(left, right) || holds(right, left);
}

// Returns the name of the attention kernel that the GPU runs.
std::string_view name_of_attention(const Kernel& kernel, const config::Gpu& gpu) {
  return base::name_of(config::attention_kernel_names,
                       config::attention_kernel_of(gpu, kernel.attention, kernel.type));
}

// Adds the keys of an attention kernel's rates in its data type.
void add_attention(const Kernel& kernel, const config::Gpu& gpu, std::vector<std::string>& keys) {
  const std::string rates = fmt::format("attention.{}", name_of_attention(kernel, gpu));
  if (config::is_scaled(kernel.type))
    return keys.push_back(fmt::format("{}.{}", rates, config::name_of(kernel.type)));
  for (const char* const key : {"forward", "backward", "half_length", "uneven_backward"})
    keys.push_back(fmt::format("{}.{}", rates, key));
}

// Returns the keys of a GPU file that determine the predicted time of a kernel. Keys whose effect
// is hidden by other work, such as the bandwidth of a compute-bound kernel, are left out.
std::vector<std::string> kernel_keys(const Kernel& kernel, const config::Gpu& gpu) {
  std::vector<std::string> keys;
  if (kernel.work == Work::memory || kernel_time(kernel, gpu).bound == Bound::memory)
    keys = {"memory_bandwidth", "memory_efficiency", "clock.memory"};
  const std::string products = fmt::format("products.{}", config::name_of(kernel.type));
  const auto add = [&](std::initializer_list<std::string> added) {
    keys.insert(keys.end(), added.begin(), added.end());
  };
  const auto add_single = [&] {
    add({products + ".efficiency", products + ".wave", products + ".overhead"});
  };
  switch (kernel.work) {
    case Work::product:
      add({"flops", products + ".flops", products + ".clock", "processors", "clock.products"});
      add_single();
      break;
    case Work::grouped:
      add({"flops", products + ".flops", products + ".clock", "processors", "clock.products",
           products + ".grouped"});
      if (!products_of(gpu, kernel.type).grouped) add_single();
      break;
    case Work::scores:
      add({"flops", products + ".flops", products + ".overhead", "processors", "attention.unfused",
           "clock.products"});
      break;
    case Work::attention:
      add({"flops", products + ".flops", "clock.attention", "kernel_overhead"});
      add_attention(kernel, gpu, keys);
      break;
    case Work::recurrence:
      add({"memory_bandwidth",
           kernel.is_delta && gpu.delta_efficiency ? "delta_efficiency" : "recurrence_efficiency",
           "clock.memory", "kernel_overhead"});
      break;
    case Work::memory:
      add({"kernel_overhead"});
      if (kernel.name == "cast") add({products + ".cast"});
      break;
    case Work::collective:
      break;
  }
  return keys;
}

// Returns those of `keys` that determine a number of `used_keys`.
std::vector<std::string> keys_among(std::vector<std::string> keys,
                                    const std::vector<std::string>& used_keys) {
  std::erase_if(keys, [&](const std::string& key) {
    return std::ranges::none_of(
        used_keys, [&](const std::string& used_key) { return keys_overlap(used_key, key); });
  });
  return keys;
}

std::vector<config::DerivedNumber> derived_among(const std::vector<std::string>& used_keys,
                                                 const config::Gpu& gpu) {
  std::vector<config::DerivedNumber> numbers = gpu.derived;
  std::erase_if(numbers, [&](const config::DerivedNumber& number) {
    return keys_among({number.key}, used_keys).empty();
  });
  return numbers;
}

// Keys of a GPU file that determine the times of passes, and whether a pass waits for launches.
struct PassKeys {
  std::vector<std::string> keys;
  bool waits_for_host = false;
};

PassKeys pass_keys(const ModelSetting& setting, const config::Gpu& gpu) {
  PassKeys used;
  const auto takes_host_bandwidth = [](const auto& offload) {
    return offload && !offload->bandwidth;
  };
  if (takes_host_bandwidth(setting.training.offload) ||
      takes_host_bandwidth(setting.training.optimizer.offload))
    used.keys.emplace_back("host_bandwidth");
  std::vector<PassKernels> parts{embedding_kernels(setting), head_kernels(setting)};
  for (const LayerKind kind : kinds_of(setting.model))
    parts.push_back(layer_kernels(setting, kind));
  if (setting.model.mtp_layers > 0) parts.push_back(mtp_kernels(setting));
  for (const PassKernels& part : parts)
    for (const auto* kernels : {&part.forward, &part.input_grad, &part.weight_grad}) {
      double busy = 0;
      bool stalls = false;
      for (const Kernel& kernel : *kernels) {
        busy += kernel_time(kernel, gpu).seconds;
        stalls = stalls || kernel.stall_s > 0;
        for (std::string& key : kernel_keys(kernel, gpu))
          if (std::ranges::find(used.keys, key) == used.keys.end())
            used.keys.push_back(std::move(key));
      }
      used.waits_for_host = used.waits_for_host || stalls ||
                            launch_seconds(setting.training, launches(*kernels), gpu) > busy;
    }
  return used;
}

}  // namespace

std::vector<std::string> assumed_launches(const config::Stack& stack) {
  std::vector<std::string> keys;
  for (const std::string_view key : {"host.kernel", "host.collective"})
    if (std::ranges::count(stack.assumed, key) > 0) keys.push_back(fmt::format("stack.{}", key));
  return keys;
}

std::vector<std::string> assumed_for(const Kernel& kernel, const config::Gpu& gpu) {
  return keys_among(config::unsourced_keys(gpu), kernel_keys(kernel, gpu));
}

std::vector<std::string> assumed_for(const ModelSetting& setting, const config::Gpu& gpu) {
  const std::vector<std::string> unsourced = config::unsourced_keys(gpu);
  if (unsourced.empty() && setting.training.stack.assumed.empty()) return {};
  const PassKeys used = pass_keys(setting, gpu);
  std::vector<std::string> keys = keys_among(unsourced, used.keys);
  if (used.waits_for_host)
    for (std::string& key : assumed_launches(setting.training.stack))
      keys.push_back(std::move(key));
  return keys;
}

double assumed_share(const ModelSetting& setting, const config::Gpu& gpu) {
  double assumed = 0;
  double total = 0;
  for (const LayerKind kind : kinds_of(setting.model)) {
    const PassKernels layer = layer_kernels(setting, kind);
    for (const auto* kernels : {&layer.forward, &layer.input_grad, &layer.weight_grad})
      for (const Kernel& kernel : *kernels) {
        const double seconds = kernel_time(kernel, gpu).seconds;
        total += seconds;
        if (!assumed_for(kernel, gpu).empty()) assumed += seconds;
      }
  }
  return total > 0 ? assumed / total : 0;
}

std::vector<config::DerivedNumber> derived_for(const Kernel& kernel, const config::Gpu& gpu) {
  return derived_among(kernel_keys(kernel, gpu), gpu);
}

std::vector<config::DerivedNumber> derived_for(const ModelSetting& setting,
                                               const config::Gpu& gpu) {
  return gpu.derived.empty() ? gpu.derived : derived_among(pass_keys(setting, gpu).keys, gpu);
}

}  // namespace pipewright::workload
