#include "sim/evaluation/layouts.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/yaml.hpp"
#include "sim/workload/model/state.hpp"

namespace pipewright::evaluation {
namespace {

// Maximum number of cached layouts. A layout of 16,384 GPUs takes about 50 MB.
constexpr std::size_t max_cached_layouts = 8;

// Cache key: all settings that affect a layout, except variations of the network and the multipath
// rule.
std::string layout_key(const config::Scenario& scenario) {
  const config::Parallel& parallel = scenario.parallel;
  std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} ", parallel.tp_text(), parallel.cp.value,
                  parallel.cp_a2a(), parallel.ep.value, parallel.expert_tp(), parallel.dp.value,
                  parallel.replicates(), parallel.expert_replicates(), parallel.pp.value,
                  scenario.symmetric, scenario.model.has_value(),
                  scenario.cluster ? 0.0 : scenario.p2p_time * scenario.variation.latency);
  for (const config::Axis axis : parallel.order)
    key += static_cast<char>('0' + static_cast<int>(axis));
  // Pairs of ranks that communicate depend on how boundary tensors are split.
  if (!parallel.tp_by_device.empty())
    key += workload::cuts_boundary(parallel, scenario.communication) ? " cut" : "";
  key += scenario.engine == config::Engine::timing ? " timing" : "";
  // GPUs under a power cap are others.
  const auto& cap = scenario.variation.power_cap;
  key += cap ? fmt::format(" power {}", cap->value) : "";
  key += scenario.communication.nccl ? fmt::format(" nccl {}", *scenario.communication.nccl) : "";
  for (const char* name : {"placement", "gpu"})
    if (const config::Value* const value = config::find(scenario.tree, name))
      key += '\n' + config::to_yaml(*value);
  return key;
}

}  // namespace

Layouts::Layouts(const config::Scenario& scenario) {
  if (!scenario.cluster) return;
  config::Scenario unvaried = scenario;
  unvaried.variation = {};
  unvaried.communication.nccl.reset();
  cluster_ = open_cluster(unvaried);
  nccl_of_file_ = cluster_->nccl();
}

void Layouts::set_multipath(const config::Scenario& scenario) {
  const config::Multipath& multipath = scenario.communication.multipath;
  if (!cluster_ || multipath == cluster_->multipath()) return;
  // SimGrid itself reads routes from the file while it loads the cluster; later they are fixed.
  if ((multipath.by == config::MultipathBy::file) !=
      (cluster_->multipath().by == config::MultipathBy::file))
    throw config::Error(config::origin_of(scenario.tree, "communication.multipath"),
                        "communication.multipath is file for some candidates only, but a process "
                        "loads a cluster once")
        .allow("file for all candidates, or only adaptive, spread and hash");
  cluster_->set_multipath(multipath);
  entries_.clear();
}

void Layouts::set_network(const config::Variation& variation) {
  const auto same_link = [](const auto& lhs, const auto& rhs) {
    return lhs.link == rhs.link && lhs.factor == rhs.factor;
  };
  const auto same_class = [](const auto& lhs, const auto& rhs) {
    return lhs.link_class == rhs.link_class && lhs.factor == rhs.factor;
  };
  if (!cluster_ || (std::ranges::equal(variation.links, network_.links, same_link) &&
                    std::ranges::equal(variation.bandwidth, network_.bandwidth, same_class) &&
                    variation.latency == network_.latency))
    return;
  entries_.clear();
  // Undo the current variation, last change first. If an exception interrupts this, the part that
  // was undone stays undone.
  for (; !network_.links.empty(); network_.links.pop_back()) {
    const double factor = network_.links.back().factor;
    cluster_->scale_link(network_.links.back().link, factor > 0 ? 1 / factor : 1);
  }
  for (; !network_.bandwidth.empty(); network_.bandwidth.pop_back()) {
    config::Variation::Bandwidth inverse = network_.bandwidth.back();
    inverse.factor = 1 / inverse.factor;
    scale_bandwidth(inverse, *cluster_);
  }
  for (const auto& change : variation.bandwidth) {
    scale_bandwidth(change, *cluster_);
    network_.bandwidth.push_back(change);
  }
  cluster_->scale_latency(variation.latency / network_.latency);
  network_.latency = variation.latency;
  for (const auto& link : variation.links) {
    scale_link(link, *cluster_);
    network_.links.push_back(link);
  }
}

Layout& Layouts::find(const config::Scenario& scenario) {
  if (scenario.cluster.has_value() != cluster_.has_value())
    throw std::logic_error("the evaluator has a cluster and the scenario has none, or the reverse");
  set_multipath(scenario);
  set_network(scenario.variation);
  if (const auto nccl = scenario.communication.nccl ? scenario.communication.nccl : nccl_of_file_;
      cluster_ && nccl)
    cluster_->set_nccl(*nccl);
  std::string key = layout_key(scenario);
  const auto it =
      std::ranges::find_if(entries_, [&](const auto& entry) { return entry->key == key; });
  if (it != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, it);
  } else {
    cluster::Cluster cluster = cluster_ ? *cluster_ : open_cluster(scenario);
    entries_.push_front(std::make_unique<Entry>(Entry{
        std::move(key), {.hardware = place_on(std::move(cluster), scenario), .least_times = {}}}));
    if (entries_.size() > max_cached_layouts) entries_.pop_back();
  }
  return entries_.front()->layout;
}

}  // namespace pipewright::evaluation
