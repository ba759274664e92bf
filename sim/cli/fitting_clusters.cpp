#include "sim/cli/fitting_clusters.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::cli {
namespace {

struct LibraryCluster {
  std::string name;
  std::string gpu;  // most frequent type
  std::uint64_t gpus = 0;
};

// Value of an attribute in the text of an XML tag; empty if the tag lacks it.
std::string attribute(std::string_view tag, std::string_view name) {
  const std::string opening = fmt::format(" {}=\"", name);
  const std::size_t at = tag.find(opening);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + opening.size();
  return std::string(tag.substr(begin, tag.find('"', begin) - begin));
}

// Number of hosts that SimGrid's `radical` attribute generates: 8 for "0-7", 1 for any other text.
std::uint64_t hosts_of(const std::string& radical) {
  std::uint64_t first = 0, last = 0;
  const std::size_t dash = radical.find('-');
  if (dash == std::string::npos) return 1;
  const char* const end = radical.data() + radical.size();
  std::from_chars(radical.data(), radical.data() + dash, first);
  std::from_chars(radical.data() + dash + 1, end, last);
  return last >= first && last - first < (1U << 24U) ? last - first + 1 : 1;
}

// Counts hosts with a property `gpu` in a cluster file. Reads the format of the library's files
// line by line, which is fast for all of them and needs no simulation engine.
LibraryCluster read_library_cluster(const std::string& name) {
  LibraryCluster cluster{.name = name};
  std::ifstream file(config::library_file("clusters", name, ".xml"));
  std::map<std::string, std::uint64_t> kinds;
  std::uint64_t hosts = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("<cluster ") != std::string::npos) hosts = hosts_of(attribute(line, "radical"));
    if (line.find("<host ") != std::string::npos) hosts = 1;
    if (line.find("<prop id=\"gpu\"") != std::string::npos)
      kinds[attribute(line, "value")] += hosts;
  }
  std::uint64_t largest = 0;
  for (const auto& [gpu, count] : kinds) {
    cluster.gpus += count;
    if (count > largest) cluster.gpu = gpu;
    largest = std::max(largest, count);
  }
  return cluster;
}

std::uint64_t number_at(const config::Value& tree, std::string_view section, std::string_view key) {
  const config::Value* value = section.empty() ? &tree : config::find(tree, section);
  if (value == nullptr || value->kind != config::Value::Kind::map) return 1;
  value = config::find(*value, key);
  if (value == nullptr) return 1;
  std::uint64_t number = 1;
  std::from_chars(value->text.data(), value->text.data() + value->text.size(), number);
  return std::max<std::uint64_t>(number, 1);
}

// Kind of node of the library that `platform make` takes, with GPUs of a type.
struct LibraryNode {
  std::string name = "dgx-h100";
  std::uint64_t gpus = 8;
};

// Chooses an NVIDIA DGX if one has GPUs of the type, else the first node that has them.
LibraryNode node_with(const std::string& gpu) {
  std::vector<LibraryNode> nodes;
  for (const std::string& name : config::library_names("nodes", ".yaml")) {
    const config::Value node =
        config::read_yaml_file(config::library_file("nodes", name, ".yaml").string());
    const config::Value* const type = config::find(node, "gpu");
    if (gpu.empty() || type == nullptr || !type->text.starts_with(gpu)) continue;
    const config::Value* const count = config::find(node, "gpus");
    nodes.push_back({name, count == nullptr ? LibraryNode{}.gpus : number_at(node, "", "gpus")});
  }
  if (nodes.empty()) return {};
  const auto dgx = std::ranges::find_if(
      nodes, [](const LibraryNode& node) { return node.name.starts_with("dgx-"); });
  return dgx == nodes.end() ? nodes.front() : *dgx;
}

}  // namespace

std::uint64_t gpus_of(const config::Value& tree) {
  double gpus = 1;
  // The product of shard and replicate is dp.
  for (const char* const key : {"tp", "cp", "pp", "dp", "shard", "replicate"})
    gpus *= static_cast<double>(number_at(tree, "parallel", key));
  gpus *= static_cast<double>(number_at(tree, "", "devices"));
  constexpr double limit = 1e15;
  return static_cast<std::uint64_t>(std::min(gpus, limit));
}

std::string fitting_clusters(const std::string& gpu, std::uint64_t gpus) {
  std::vector<LibraryCluster> fitting;
  for (const std::string& name : config::library_names("clusters", ".xml")) {
    LibraryCluster cluster = read_library_cluster(name);
    if (cluster.gpus >= gpus && cluster.gpu.starts_with(gpu)) fitting.push_back(std::move(cluster));
  }
  std::ranges::sort(fitting, [](const LibraryCluster& a, const LibraryCluster& b) {
    return std::pair(a.gpus, a.name) < std::pair(b.gpus, b.name);
  });
  std::vector<std::string> words;
  for (const LibraryCluster& cluster : fitting)
    words.push_back(fmt::format("{} ({} {})", cluster.name, cluster.gpus, cluster.gpu));
  const std::string requirement = fmt::format("{} {}", gpus, gpu.empty() ? "GPUs" : gpu);
  if (!words.empty())
    return fmt::format("such as one with {}: {}", requirement, fmt::join(words, ", "));
  const LibraryNode node = node_with(gpu);
  return fmt::format(
      "a file of your own: no cluster of the library has {}; 'pipewright platform make --node {} "
      "--nodes {} -o mine.xml' makes one",
      requirement, node.name, (gpus + node.gpus - 1) / node.gpus);
}

}  // namespace pipewright::cli
