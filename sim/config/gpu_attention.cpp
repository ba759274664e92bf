#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/gpu.hpp"

// Attention kernels of a GPU.
namespace pipewright::config {
namespace {

// Members of AttentionKernels in the order of AttentionKernel, from the first fused kernel on.
constexpr std::array fused_members{&AttentionKernels::fa1,       &AttentionKernels::fa2,
                                   &AttentionKernels::fa3,       &AttentionKernels::cudnn,
                                   &AttentionKernels::cudnn_9_2, &AttentionKernels::ck,
                                   &AttentionKernels::aiter,     &AttentionKernels::aotriton};
static_assert(fused_members.size() + 1 == attention_kernel_names.size());

const std::optional<AttentionRates>& fused_rates(const Gpu& gpu, AttentionKernel kernel) {
  return gpu.attention.*fused_members.at(static_cast<std::size_t>(kernel) - 1);
}

bool has_fused_kernel(const Gpu& gpu) {
  return std::ranges::any_of(
      fused_members, [&](const auto member) { return (gpu.attention.*member).has_value(); });
}

// Returns the kernel of FP8 attention. Throws an Error that lists the kernels of the GPU that take
// the type if none of them is a preferred one.
AttentionKernel scaled_attention_kernel_of(const Gpu& gpu,
                                           std::span<const AttentionKernel> preference,
                                           DataType type) {
  std::vector<std::string_view> names;
  for (std::size_t i = 1; i < attention_kernel_names.size(); ++i)
    if (const auto& rates = fused_rates(gpu, static_cast<AttentionKernel>(i));
        rates && rates->of(type)) {
      names.push_back(attention_kernel_names[i]);
      if (preference.empty()) return static_cast<AttentionKernel>(i);
    }
  for (const AttentionKernel kernel : preference)
    if (kernel != AttentionKernel::unfused && fused_rates(gpu, kernel) &&
        fused_rates(gpu, kernel)->of(type))
      return kernel;
  const std::string_view where = names.empty() ? "" : " among those of the stack";
  throw Error(fmt::format("the GPU {} has no attention kernel in {}{}", in_quotes(gpu.name),
                          name_of(type), where))
      .allow(
          names.empty()
              ? std::string("bf16 (rates in other types belong under attention in the GPU's file)")
              : fmt::format("bf16, or stack.attention: {}", fmt::join(names, ", ")));
}

}  // namespace

AttentionKernel attention_kernel_of(const Gpu& gpu, std::span<const AttentionKernel> preference,
                                    DataType type) {
  if (is_scaled(type)) return scaled_attention_kernel_of(gpu, preference, type);
  if (preference.empty()) {
    auto fastest = AttentionKernel::fa2;
    double rate = 0;
    for (std::size_t i = 1; i < attention_kernel_names.size(); ++i)
      if (const auto& rates = fused_rates(gpu, static_cast<AttentionKernel>(i));
          rates && rates->forward > rate) {
        fastest = static_cast<AttentionKernel>(i);
        rate = rates->forward;
      }
    return fastest;
  }
  for (const AttentionKernel kernel : preference)
    if (kernel == AttentionKernel::unfused || !has_fused_kernel(gpu) || fused_rates(gpu, kernel))
      return kernel;
  std::vector<std::string_view> names{attention_kernel_names.front()};
  for (std::size_t i = 1; i < attention_kernel_names.size(); ++i)
    if (fused_rates(gpu, static_cast<AttentionKernel>(i)))
      names.push_back(attention_kernel_names[i]);
  std::vector<std::string_view> preferred;
  for (const AttentionKernel kernel : preference)
    preferred.push_back(attention_kernel_names[static_cast<std::size_t>(kernel)]);
  throw Error(fmt::format("the GPU {} has no attention kernel {}, which the stack uses",
                          in_quotes(gpu.name), fmt::join(preferred, " or ")))
      .allow(
          fmt::format("stack.attention: {} (rates of other kernels belong under attention in the "
                      "GPU's file)",
                      fmt::join(names, ", ")));
}

const AttentionRates& rates_of(const Gpu& gpu, AttentionKernel kernel) {
  static const AttentionRates unknown;
  const auto& rates_of_kernel = fused_rates(gpu, kernel);
  return rates_of_kernel ? *rates_of_kernel : unknown;
}

bool has_kernel(const Gpu& gpu, AttentionKernel kernel) {
  return fused_rates(gpu, kernel).has_value();
}

AttentionRates& mutable_rates_of(Gpu& gpu, AttentionKernel kernel) {
  auto& rates_of_kernel = gpu.attention.*fused_members.at(static_cast<std::size_t>(kernel) - 1);
  if (!rates_of_kernel) rates_of_kernel.emplace();
  return *rates_of_kernel;
}

}  // namespace pipewright::config
