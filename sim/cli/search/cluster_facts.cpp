#include "sim/cli/search/cluster_facts.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "sim/cluster/cluster.hpp"
#include "sim/config/error.hpp"
#include "sim/config/library.hpp"
#include "sim/search/child.hpp"
#include "sim/search/greeting.hpp"

namespace pipewright::cli {
namespace {

search::ClusterFacts facts_of(const std::string& value) {
  const config::Value text = config::make_text(value, {});
  const std::filesystem::path file = config::library_or_path({text, "cluster"}, "clusters", ".xml");
  const bool listed = config::is_library_name(value, ".xml");
  const cluster::Cluster cluster = cluster::Cluster::load(file, listed ? value : std::string());
  const std::vector<cluster::Host*>& gpus = cluster.gpus();
  std::map<std::uint32_t, std::uint32_t> of_node;
  for (const cluster::Host* gpu : gpus) ++of_node[cluster.node_of(gpu)];
  std::uint32_t per_node = 0;
  for (const auto& [node, count] : of_node) per_node = std::max(per_node, count);
  return {.name = cluster.name(),
          .gpus = static_cast<std::uint32_t>(gpus.size()),
          .gpus_per_node = per_node,
          .gpu = cluster::gpu_of(gpus.front()),
          .memory = cluster::memory_of(gpus.front())};
}

}  // namespace

std::vector<search::ClusterFacts> find_facts(const search::Sweep& sweep) {
  std::vector<search::ClusterFacts> facts;
  for (const std::string& value : search::cluster_values(sweep)) {
    if (value.empty()) {  // the ideal network has what is asked of it
      facts.emplace_back();
      continue;
    }
    constexpr int nobody = -1;
    const std::optional<search::Said> said = search::run_within(
        0,
        [&] {
          return to_line(search::Welcome{{{facts_of(value)}}, {}});
        },
        nobody);
    if (said->failed) throw config::Error(said->text);
    facts.push_back(search::read_welcome(said->text).facts->front());
  }
  return facts;
}

}  // namespace pipewright::cli
