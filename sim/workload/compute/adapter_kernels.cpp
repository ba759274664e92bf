#include <algorithm>
#include <string_view>

#include "sim/workload/compute/kernels.hpp"
#include "sim/workload/shape/fine_tuning.hpp"

namespace pipewright::workload {
namespace {

using Work = Kernel::Work;
using Kernels = std::vector<Kernel>;

constexpr std::string_view product_with_a = "adapter A";
constexpr std::string_view product_with_b = "adapter B";
constexpr std::string_view sum_of_gradients = "adapter sum";

void append(Kernels products, std::string_view name, Kernels& pass) {
  for (Kernel& product : products) {
    if (product.work != Work::memory) product.name = name;
    pass.push_back(product);
  }
}

// Adds a single operation of PyTorch: a multiplication, an addition or a dropout.
void add_operation(Kernels& pass, Part part, std::string_view name, double bytes) {
  add_memory(pass, part, name, bytes);
  pass.back().is_operation = true;
}

void add_collective(const Adapter& adapter, std::string_view name, Kernels& pass) {
  if (adapter.ranks > 1)
    pass.push_back({.name = name, .part = adapter.a.part, .work = Work::collective});
}

void add_adapter(const ModelSetting& setting, const Linear& linear, const Adapter& adapter,
                 PassKernels& kernels) {
  const double width = config::value_bytes(setting.training.precision);
  const config::DataType recipe = setting.training.precision;
  const config::DataType type = config::is_scaled(recipe) ? config::DataType::bf16 : recipe;
  const Part part = linear.part;
  const PassKernels a = product_kernels(setting, adapter.a, type);
  const PassKernels b = product_kernels(setting, adapter.b, type);
  const double inputs = adapter.a.tokens * static_cast<double>(adapter.a.inputs) * adapter.a.count;
  // The result of a product that is cut by inputs is whole on each rank, or of a part of the
  // tokens.
  const bool scatters = adapter.cut_by_inputs && setting.sizes.sequence_parallel;
  const double outputs = adapter.b.tokens * static_cast<double>(adapter.b.outputs) *
                         adapter.b.count * (adapter.cut_by_inputs ? adapter.ranks : 1) /
                         (scatters ? adapter.ranks : 1);
  const std::string_view joins_a = adapter.cut_by_inputs ? "all-reduce" : "all-gather";
  const double masked = inputs * (2 * width + 1);
  const bool drops = setting.training.lora->dropout > 0;

  if (drops) add_operation(kernels.forward, part, "dropout", masked);
  append(a.forward, product_with_a, kernels.forward);
  add_collective(adapter, joins_a, kernels.forward);
  append(b.forward, product_with_b, kernels.forward);
  if (adapter.cut_by_inputs) add_collective(adapter, "all-gather", kernels.forward);
  add_operation(kernels.forward, part, "adapter scale", 2 * width * outputs);
  add_operation(kernels.forward, part, "adapter add", 3 * width * outputs);

  add_operation(kernels.input_grad, part, "adapter scale", 2 * width * outputs);
  if (scatters) add_collective(adapter, "all-gather", kernels.input_grad);
  append(b.input_grad, product_with_b, kernels.input_grad);
  add_collective(adapter, "all-reduce", kernels.input_grad);
  append(a.input_grad, product_with_a, kernels.input_grad);
  if (drops) add_operation(kernels.input_grad, part, "dropout", masked);
  add_operation(kernels.input_grad, part, sum_of_gradients, 3 * width * inputs);

  append(b.weight_grad, product_with_b, kernels.weight_grad);
  append(a.weight_grad, product_with_a, kernels.weight_grad);
}

}  // namespace

PassKernels adapter_kernels(const ModelSetting& setting, const Linear& linear) {
  PassKernels kernels;
  for (const Adapter& adapter : adapters_of(setting, linear))
    add_adapter(setting, linear, adapter, kernels);
  return kernels;
}

void drop_lowest_gradients(const config::Training& training, Kernels& input_grad) {
  const auto is_adapter = [](const Kernel& kernel) { return kernel.name.starts_with("adapter "); };
  const auto is_trained_norm = [&](const Kernel& kernel) {
    return kernel.name == "norm" && !training.freezes(config::WeightGroup::norms);
  };
  const auto first = std::ranges::find_if(input_grad, [&](const Kernel& kernel) {
    const bool multiplies = kernel.work == Work::product || kernel.work == Work::grouped;
    return is_adapter(kernel) || is_trained_norm(kernel) ||
           (multiplies && !is_frozen(training, kernel.part));
  });
  if (first == input_grad.end()) return input_grad.clear();
  const Kernel lowest = *first;
  // The kernel of a norm computes the gradients of its weights, too. The first of an adapter's
  // kernels comes before B's gradient, and the product of a trained matrix is that of its input.
  const bool is_needed = is_adapter(lowest) || is_trained_norm(lowest);
  input_grad.erase(input_grad.begin(), is_needed ? first : first + 1);
  if (!is_adapter(lowest)) return;
  std::erase_if(input_grad, [&](const Kernel& kernel) {
    return kernel.part == lowest.part &&
           (kernel.name == product_with_a || kernel.name == sum_of_gradients ||
            kernel.name == "dropout");
  });
}

}  // namespace pipewright::workload
