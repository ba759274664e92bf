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

constexpr std::size_t most_kept = 8;  // some 50 MB each, of 16,384 GPUs

// All that a layout depends on, besides variations of the network and the ways through the fabric.
std::string key_of(const config::Scenario& scenario) {
  const config::Parallel& parallel = scenario.parallel;
  std::string key = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} ", parallel.tp_text(), parallel.cp.value, parallel.cp_a2a(),
      parallel.ep.value, parallel.expert_tp(), parallel.dp.value, parallel.replicates(),
      parallel.pp.value, scenario.symmetric, scenario.model.has_value(),
      scenario.cluster ? 0.0 : scenario.p2p_time * scenario.variation.latency);
  for (const config::Axis axis : parallel.order)
    key += static_cast<char>('0' + static_cast<int>(axis));
  // Who sends whom what of a boundary tensor.
  if (!parallel.tp_by_device.empty())
    key += workload::cuts_boundary(parallel, scenario.communication) ? " cut" : "";
  key += scenario.engine == config::Engine::timing ? " timing" : "";
  key += scenario.communication.nccl ? fmt::format(" nccl {}", *scenario.communication.nccl) : "";
  for (const char* name : {"placement", "gpu"})
    if (const config::Value* const value = config::find(scenario.tree, name))
      key += '\n' + config::to_yaml(*value);
  return key;
}

}  // namespace

Layouts::Layouts(const config::Scenario& first) {
  if (!first.cluster) return;
  config::Scenario still = first;
  still.variation = {};
  still.communication.nccl.reset();
  cluster_ = open_cluster(still);
  nccl_of_file_ = cluster_->nccl();
}

void Layouts::set_ways(const config::Scenario& scenario) {
  const config::Multipath& now = scenario.communication.multipath;
  if (!cluster_ || now == cluster_->multipath()) return;
  // Where SimGrid finds the ways, it has loaded the file itself.
  if ((now.by == config::MultipathBy::file) !=
      (cluster_->multipath().by == config::MultipathBy::file))
    throw config::Error(config::locate(
        config::origin_of(scenario.tree, "communication.multipath"),
        "communication.multipath is file for some candidates and not for others, and a process "
        "loads a cluster once; allowed: file alone, or spread and hash"));
  cluster_->set_multipath(now);
  entries_.clear();
}

void Layouts::set_network(const config::Variation& variation) {
  const auto same_link = [](const auto& one, const auto& other) {
    return one.link == other.link && one.factor == other.factor;
  };
  const auto same_class = [](const auto& one, const auto& other) {
    return one.link_class == other.link_class && one.factor == other.factor;
  };
  if (!cluster_ || (std::ranges::equal(variation.links, network_.links, same_link) &&
                    std::ranges::equal(variation.bandwidth, network_.bandwidth, same_class) &&
                    variation.latency == network_.latency))
    return;
  entries_.clear();
  // Back to what the file says, the last change first; what throws leaves what was undone.
  for (; !network_.links.empty(); network_.links.pop_back()) {
    const double factor = network_.links.back().factor;
    cluster_->scale_link(network_.links.back().link, factor > 0 ? 1 / factor : 1);
  }
  for (; !network_.bandwidth.empty(); network_.bandwidth.pop_back()) {
    config::Variation::Bandwidth back = network_.bandwidth.back();
    back.factor = 1 / back.factor;
    scale(back, *cluster_);
  }
  for (const auto& change : variation.bandwidth) {
    scale(change, *cluster_);
    network_.bandwidth.push_back(change);
  }
  cluster_->scale_latency(variation.latency / network_.latency);
  network_.latency = variation.latency;
  for (const auto& link : variation.links) {
    slow(link, *cluster_);
    network_.links.push_back(link);
  }
}

Layout& Layouts::of(const config::Scenario& scenario) {
  if (scenario.cluster.has_value() != cluster_.has_value())
    throw std::logic_error("a scenario on another cluster than the evaluator's");
  set_ways(scenario);
  set_network(scenario.variation);
  if (const auto nccl = scenario.communication.nccl ? scenario.communication.nccl : nccl_of_file_;
      cluster_ && nccl)
    cluster_->set_nccl(*nccl);
  std::string key = key_of(scenario);
  const auto known =
      std::ranges::find_if(entries_, [&](const auto& one) { return one->key == key; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    cluster::Cluster cluster = cluster_ ? *cluster_ : open_cluster(scenario);
    entries_.push_front(std::make_unique<Entry>(
        Entry{std::move(key), {.hardware = place_on(std::move(cluster), scenario), .least = {}}}));
    if (entries_.size() > most_kept) entries_.pop_back();
  }
  return entries_.front()->layout;
}

}  // namespace pipewright::evaluation
