#include "sim/config/nearest_gpu.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/base/letters.hpp"
#include "sim/config/data_sheet.hpp"
#include "sim/config/published_range.hpp"
#include "sim/config/text/library.hpp"

namespace pipewright::config {
namespace {

// Returns whether a map of a GPU has a number that makers do not state, or says which are assumed.
bool has_measured_number(const Value& tree) {
  constexpr std::array<std::string_view, 7> keys{
      "attention",        "memory_efficiency", "recurrence_efficiency",
      "delta_efficiency", "kernel_overhead",   "clock",
      "assumed"};
  if (std::ranges::any_of(keys, [&](std::string_view key) { return find(tree, key) != nullptr; }))
    return true;
  const Value* const products = find(tree, "products");
  return products != nullptr && std::ranges::any_of(products->entries, [](const Entry& type) {
           return std::ranges::any_of(type.value.entries,
                                      [](const Entry& entry) { return entry.key != "flops"; });
         });
}

// Properties by which two GPUs are alike.
struct Likeness {
  bool is_amd = false;
  int widths = 0;             // of products: 0: 16 bits and more, 1: 8 bits too, 2: 4 bits too
  double processor_rate = 0;  // logarithm of FLOP/s for each processor
  double memory_rate = 0;     // logarithm of bytes/s of the memory for each FLOP/s
};

Likeness likeness_of(const Value& tree, std::string_view gpu) {
  const std::string name = base::lowercase(gpu);
  const auto names = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  const auto has = [&](std::string_view type) {
    return value_at(tree, fmt::format("products.{}", type)) != nullptr;
  };
  const DataSheet sheet(tree);
  const double flops = sheet.flops.value_or(1);
  const double bandwidth = quantity_at<parse_bandwidth>(tree, "memory_bandwidth").value_or(flops);
  return {.is_amd = name.starts_with("mi") || names("amd") || names("instinct") || names("radeon"),
          .widths = has("nvfp4") || has("mxfp4")           ? 2
                    : std::ranges::any_of(eight_bits, has) ? 1
                                                           : 0,
          .processor_rate = std::log(flops / sheet.processors.value_or(1)),
          .memory_rate = std::log(bandwidth / flops)};
}

// Returns how unlike two GPUs are. A property counts more than all that come after it.
std::array<double, 3> difference(const Likeness& left, const Likeness& right) {
  return {left.is_amd == right.is_amd ? 0.0 : 1.0,
          static_cast<double>(std::abs(left.widths - right.widths)),
          std::abs(left.processor_rate - right.processor_rate) +
              std::abs(left.memory_rate - right.memory_rate)};
}

// Returns whether a list of assumed keys has the efficiency of products in bf16.
bool lists_products(const Value& assumed) {
  constexpr std::array<std::string_view, 3> keys{"products", "products.bf16",
                                                 "products.bf16.efficiency"};
  return std::ranges::any_of(assumed.items, [&](const Value& item) {
    return std::ranges::find(keys, item.text) != keys.end();
  });
}

// Returns whether products of the GPU were measured.
bool is_measured(const Value& tree) {
  if (find(tree, "like") != nullptr) return false;
  const Value* const assumed = find(tree, "assumed");
  return has_measured_number(tree) && (assumed == nullptr || !lists_products(*assumed));
}

}  // namespace

Value with_nearest_gpu(Value tree, const std::string& name) {
  if (tree.kind != Value::Kind::map || find(tree, "like") != nullptr ||
      find(tree, "derived") != nullptr || find(tree, "flops") == nullptr ||
      has_measured_number(tree))
    return tree;
  const Value* const own_name = find(tree, "name");
  const Likeness own = likeness_of(at_range_end(tree, RangeEnd::middle),
                                   own_name == nullptr ? name : own_name->text);
  std::string nearest;
  std::array<double, 3> least{};
  for (const std::string& candidate : library_names("gpus", ".yaml")) {
    const Value other =
        read_yaml_file(library_file("gpus", candidate, ".yaml").string(), gpu_document);
    if (!is_measured(other)) continue;
    const auto apart = difference(own, likeness_of(other, candidate));
    if (!nearest.empty() && !(apart < least)) continue;
    nearest = candidate;
    least = apart;
  }
  if (!nearest.empty())
    tree.entries.push_back({"like", tree.origin, make_text(nearest, tree.origin)});
  return tree;
}

}  // namespace pipewright::config
