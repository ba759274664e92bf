#include "sim/comm/logged_gpus.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/library.hpp"

namespace pipewright::comm {
namespace {

using GpuWords = std::vector<std::string>;

// Splits a name into its words, in lowercase: "NVIDIA A100-SXM4-40GB" is nvidia, a100, sxm4, 40gb.
GpuWords words_of_gpu(std::string_view name) {
  GpuWords words;
  bool is_inside = false;
  for (const unsigned char c : name) {
    const bool is_part = std::isalnum(c) != 0;
    if (is_part && !is_inside) words.emplace_back();
    if (is_part) words.back() += static_cast<char>(std::tolower(c));
    is_inside = is_part;
  }
  return words;
}

bool is_on_pcie(const GpuWords& words) { return std::ranges::find(words, "pcie") != words.end(); }

// Model of a type of the library, as words that a driver's name has too: without the form factor
// and the memory, which tell variants of a model apart.
GpuWords model_words(const std::string& type) {
  GpuWords words = words_of_gpu(type);
  std::erase_if(words, [](const std::string& word) {
    return word == "sxm" || word == "pcie" ||
           (word.ends_with("gb") && word.find_first_not_of("0123456789") == word.size() - 2);
  });
  return words;
}

bool is_same_model(const std::string& a, const std::string& b) {
  return model_words(a) == model_words(b) &&
         is_on_pcie(words_of_gpu(a)) == is_on_pcie(words_of_gpu(b));
}

// Types of the library that a driver's name can stand for.
std::vector<std::string> types_of(const std::string& name, std::span<const std::string> library) {
  const GpuWords words = words_of_gpu(name);
  std::vector<std::string> types;
  for (const std::string& type : library)
    if (std::ranges::all_of(model_words(type), [&](const std::string& word) {
          return std::ranges::find(words, word) != words.end();
        }))
      types.push_back(type);
  const auto has_same_bus = [&](const std::string& type) {
    return is_on_pcie(words_of_gpu(type)) == is_on_pcie(words);
  };
  if (std::ranges::any_of(types, has_same_bus))
    std::erase_if(types, [&](const std::string& type) { return !has_same_bus(type); });
  return types;
}

}  // namespace

std::vector<analysis::LogRemark> other_gpus(const cluster::Cluster& cluster,
                                            std::span<const analysis::LoggedGpu> gpus) {
  const std::vector<std::string> library = config::library_names("gpus", ".yaml");
  std::set<std::string> cluster_types;
  for (const cluster::Host* gpu : cluster.gpus())
    if (std::ranges::find(library, cluster::gpu_of(gpu)) != library.end())
      cluster_types.insert(cluster::gpu_of(gpu));
  std::vector<analysis::LogRemark> remarks;
  for (const analysis::LoggedGpu& gpu : gpus) {
    const std::vector<std::string> types = types_of(gpu.name, library);
    const bool is_known = std::ranges::any_of(types, [&](const std::string& type) {
      return std::ranges::any_of(cluster_types, [&](const std::string& cluster_type) {
        return is_same_model(type, cluster_type);
      });
    });
    if (types.empty() || cluster_types.empty() || is_known) continue;
    remarks.push_back(
        {gpu.file, gpu.line,
         fmt::format("the ranks ran on {}, but the GPUs of {} are {}: the cluster is not the "
                     "machine of the log; give --cluster with {}",
                     gpu.name, cluster.name(), fmt::join(cluster_types, ", "),
                     fmt::join(types, " or "))});
  }
  return remarks;
}

}  // namespace pipewright::comm
