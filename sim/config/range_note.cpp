#include "sim/config/range_note.hpp"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/gpu.hpp"
#include "sim/config/published_range.hpp"

namespace pipewright::config {

Value keys_of_gpu(const Value& scenario, const std::string& cluster_gpu) {
  if (const Value* const gpu = find(scenario, "gpu")) return named_gpu_tree({*gpu, "gpu"});
  const Value name = make_text(cluster_gpu, {.source = "the cluster"});
  return named_gpu_tree({name, "gpu"});
}

std::string range_note(const Value& scenario, const std::string& cluster_gpu) {
  // Jobs without a model need no GPU, and their platform files may use any name for its type.
  const bool has_gpu = find(scenario, "gpu") != nullptr || !cluster_gpu.empty();
  if (!has_gpu || find(scenario, "model") == nullptr) return "";
  const Value keys = keys_of_gpu(scenario, cluster_gpu);
  std::vector<std::string> texts;
  for (const PublishedRange& range : published_ranges(keys))
    texts.push_back(fmt::format("{} {} to {}", range.key, range.low, range.high));
  if (texts.empty()) return "";
  return fmt::format("{} is preliminary: published are {}; predictions use the middle",
                     find(keys, "name")->text, fmt::join(texts, ", "));
}

}  // namespace pipewright::config
