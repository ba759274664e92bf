#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/comm/priced_run.hpp"
#include "sim/execution/collectives/plan.hpp"

namespace pipewright::comm {
namespace {

using cluster::Link;
using cluster::MessageModel;
using cluster::Numbers;
using cluster::Protocol;
using execution::AlgorithmChoice;
using execution::PhaseCost;
using Choices = std::vector<AlgorithmChoice>;

}  // namespace

// Prepares a PricedRun: plans the run with the cluster's numbers, and finds the derivative of its
// costs with respect to each number by finite differences.
class PricedRun::Planner {
 public:
  Planner(PricedRun& priced, cluster::Cluster& cluster, const BenchmarkRun& run)
      : priced_(priced), cluster_(cluster), run_(run) {}

  void make() {
    for (const std::string& name : cluster_.link_classes()) {
      class_of_.emplace(name, priced_.classes_.size());
      priced_.classes_.push_back({.name = name});
    }
    for (const Link* link : cluster_.links()) add_latency(link);
    const Choices actual = choices(run_.placement);
    if (actual.empty()) return;
    std::size_t variants = 0;
    for (const AlgorithmChoice& choice : actual) variants += choice.protocols.size();
    priced_.file_has_expected_ = cluster_.has_tuning_model();
    priced_.kind_ = collective_of(run_.operation);
    if (variants > 1) add_nccl_view(actual);
    if (variants > 1 && !priced_.view_ && cluster_.has_tuning_model()) {
      const execution::RankPlacement expected = run_.placement.expected();
      priced_.expected_ = priced_.prices(plan(choices(expected), expected),
                                         cluster_.model(Numbers::expected), false);
    }
    priced_.actual_ = plan(actual, run_.placement);
    if (priced_.view_) {
      const MessageModel& model = cluster_.model();
      priced_.view_->ring_bytes = priced_.view_->view.bus_bandwidth *
                                  priced_
                                      .price(priced_.actual_.choices.front().front(),
                                             Protocol::simple, priced_.classes_of(model), model)
                                      .transfer;
    }
    find_terms(actual);
  }

 private:
  void add_nccl_view(const Choices& actual) {
    const std::vector<std::uint32_t>& members = run_.groups.front();
    const auto nccl = execution::nccl_view(priced_.kind_, members, actual, run_.placement);
    if (!nccl) return;
    priced_.view_ = View{.view = *nccl};
    View& view = *priced_.view_;
    const auto nodes = run_.placement.by_node(members);
    for (const std::vector<std::uint32_t>& node : nodes) {
      if (node.size() < 2) continue;
      const cluster::Route route = run_.placement.route(node[0], node[1]);
      for (const Link* link : route.path()) {
        const std::string& name = cluster_.link_class(link);
        view.inside.push_back({class_of_.at(name), cluster_.capacity_of(link, Numbers::actual) /
                                                       cluster_.model().of(name).efficiency});
      }
      break;
    }
    if (nodes.size() < 2) return;
    const cluster::Route route = run_.placement.route(nodes[0].front(), nodes[1].front());
    view.non_link_latency = route.latency;
    for (const Link* link : route.path()) {
      const std::string& name = cluster_.link_class(link);
      view.between.push_back({class_of_.at(name), cluster_.latency_of(link)});
      view.rates.push_back({class_of_.at(name), cluster_.capacity_of(link, Numbers::actual) /
                                                    cluster_.model().of(name).efficiency});
      view.non_link_latency -= cluster_.latency_of(link);
    }
  }

  void add_latency(const Link* link) {
    Class& link_class = priced_.classes_[class_of_.at(cluster_.link_class(link))];
    const double latency = cluster_.latency_of(link);
    if (!classes_with_latency_.insert(&link_class).second)
      link_class.has_latency = link_class.has_latency && link_class.latency == latency;
    else
      std::tie(link_class.latency, link_class.has_latency) = std::pair(latency, true);
  }

  Choices choices(const execution::RankPlacement& placement) const {
    return execution::algorithm_choices(collective_of(run_.operation), run_.groups.front(),
                                        run_.algorithm, placement);
  }

  std::size_t path_of(const std::vector<const Link*>& links) {
    std::vector<std::size_t> classes;
    for (const Link* link : links) classes.push_back(class_of_.at(cluster_.link_class(link)));
    std::ranges::sort(classes);
    const auto repeated = std::ranges::unique(classes);
    classes.erase(repeated.begin(), repeated.end());
    const auto it = std::ranges::find(priced_.paths_, classes);
    if (it != priced_.paths_.end()) return static_cast<std::size_t>(it - priced_.paths_.begin());
    priced_.paths_.push_back(std::move(classes));
    return priced_.paths_.size() - 1;
  }

  Phase phase(const PhaseCost& cost, const execution::RankPlacement& placement) {
    std::map<const Link*, std::vector<std::pair<std::size_t, double>>> by_link;
    for (const execution::Flow& flow : cost.flows) {
      const cluster::Route route = placement.route(flow.source, flow.destination);
      const std::size_t path = path_of(route.links);
      for (const Link* link : route.links) {
        auto& flows = by_link[link];
        const auto it = std::ranges::find(flows, path, &std::pair<std::size_t, double>::first);
        if (it == flows.end())
          flows.emplace_back(path, flow.bytes);
        else if (cluster::is_shared(link))
          it->second += flow.bytes;
        else
          it->second = std::max(it->second, flow.bytes);
      }
    }
    Phase result{.cost = cost};
    result.cost.flows.clear();
    for (auto& [link, flows] : by_link) {
      Load load{.link_class = class_of_.at(cluster_.link_class(link)),
                .bandwidth = cluster_.capacity_of(link, Numbers::actual) /
                             cluster_.model().of(cluster_.link_class(link)).efficiency,
                .is_shared = cluster::is_shared(link)};
      std::ranges::sort(flows);
      for (const auto& [path, bytes] : flows) load.flows.push_back({.path = path, .bytes = bytes});
      result.loads.push_back(std::move(load));
    }
    std::ranges::sort(result.loads);
    const auto repeated = std::ranges::unique(result.loads);
    result.loads.erase(repeated.begin(), repeated.end());
    return result;
  }

  Plan plan(const Choices& choices, const execution::RankPlacement& placement) {
    Plan result;
    for (const AlgorithmChoice& choice : choices) {
      for (const Protocol protocol : choice.protocols)
        result.variants.push_back(
            {.method = {choice.algorithm, protocol}, .choice = result.choices.size()});
      std::vector<Phase>& phases = result.choices.emplace_back();
      for (const PhaseCost& cost : choice.phases) phases.push_back(phase(cost, placement));
    }
    return result;
  }

  // Plans again with one number of the model increased by `step`, then restores it, and calls
  // visit(phase, costs before, costs after) for each phase.
  void differentiate(
      const std::string& name, double value, double step,
      const std::function<void(Phase&, const PhaseCost& before, const PhaseCost& after)>& visit,
      const Choices& before) {
    cluster_.set_parameter(name, value + step);
    const Choices after = choices(run_.placement);
    cluster_.set_parameter(name, value);
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
      for (std::size_t p = 0; p < before[i].phases.size(); ++p)
        visit(priced_.actual_.choices[i][p], before[i].phases[p], after[i].phases[p]);
  }

  // Adds a term to each phase whose latency changes with this number. The derivative is divided by
  // `per` for each protocol.
  void add_latency_terms(const std::string& name, double value, double step, TermKind kind,
                         std::size_t link_class, const ByProtocol& per, const Choices& before) {
    const auto visit = [&](Phase& phase, const PhaseCost& old_cost, const PhaseCost& new_cost) {
      Term term{.kind = kind, .link_class = link_class};
      bool has_change = false;
      for (std::size_t p = 0; p < per.size(); ++p) {
        if (per[p] <= 0 || (new_cost.latency[p] == old_cost.latency[p] &&
                            new_cost.round_latency[p] == old_cost.round_latency[p]))
          continue;
        term.times[p] = (new_cost.latency[p] - old_cost.latency[p]) / step / per[p];
        term.round_times[p] =
            (new_cost.round_latency[p] - old_cost.round_latency[p]) / step / per[p];
        has_change = true;
      }
      if (has_change) phase.terms.push_back(term);
    };
    differentiate(name, value, step, visit, before);
  }

  void find_terms(const Choices& before) {
    constexpr double microsecond = 1e-6;  // step of the finite difference
    ByProtocol per;
    per.fill(1);
    const MessageModel model = cluster_.model();
    add_latency_terms("collective.step", model.step, microsecond, TermKind::step, 0, per, before);
    add_latency_terms("collective.post", model.post, microsecond, TermKind::post, 0, per, before);
    add_latency_terms("collective.message", model.message, microsecond, TermKind::message, 0, per,
                      before);
    differentiate(
        "collective.ring-ends", model.ring_ends, 1,
        [](Phase& phase, const PhaseCost& old_cost, const PhaseCost& new_cost) {
          phase.ends_of_ring = new_cost.ends - old_cost.ends;
        },
        before);
    differentiate(
        "collective.direct-ends", model.direct_ends, 1,
        [](Phase& phase, const PhaseCost& old_cost, const PhaseCost& new_cost) {
          phase.ends_of_direct = new_cost.ends - old_cost.ends;
        },
        before);
    for (std::size_t i = 0; i < priced_.classes_.size(); ++i)
      if (is_used(i)) find_terms_of(i, model.of(priced_.classes_[i].name), before);
    for (std::size_t i = 0; i < before.size(); ++i)
      for (std::size_t p = 0; p < before[i].phases.size(); ++p) subtract_terms(i, p, model);
  }

  bool is_used(std::size_t link_class) const {
    return std::ranges::any_of(priced_.paths_, [&](const std::vector<std::size_t>& path) {
      return std::ranges::binary_search(path, link_class);
    });
  }

  void find_terms_of(std::size_t index, const cluster::ClassModel class_model,
                     const Choices& before) {
    constexpr double microsecond = 1e-6;
    Class& link_class = priced_.classes_[index];
    for (std::size_t p = 0; p < link_class.protocol_efficiency.size(); ++p)
      if (class_model.per_protocol[p])
        link_class.protocol_efficiency[p] = class_model.per_protocol[p]->efficiency;
    if (class_model.message) {
      ByProtocol per;
      per.fill(1);
      add_latency_terms(link_class.name + ".message", *class_model.message, microsecond,
                        TermKind::class_message, index, per, before);
    }
    if (link_class.has_latency) {
      ByProtocol per;
      for (std::size_t p = 0; p < per.size(); ++p) per[p] = protocol_latency(class_model, p);
      add_latency_terms(link_class.name + ".latency", link_class.latency, microsecond,
                        TermKind::hop, index, per, before);
    } else {
      for (const auto& [p, suffix] :
           {std::pair{Protocol::ll, ".ll-latency"}, std::pair{Protocol::ll128, ".ll128-latency"}}) {
        const auto protocol = static_cast<std::size_t>(p);
        if (!class_model.per_protocol[protocol]) continue;
        ByProtocol per{};
        per[protocol] = 1;
        add_latency_terms(link_class.name + suffix, class_model.per_protocol[protocol]->latency,
                          1e-3, TermKind::protocol, index, per, before);
      }
    }
    find_level_terms(index, class_model, before);
    if (!class_model.in_switch) return;
    link_class.sharp_efficiency = class_model.in_switch->efficiency;
    ByProtocol per;
    per.fill(1);
    add_latency_terms(link_class.name + ".sharp-latency", class_model.in_switch->latency,
                      microsecond, TermKind::in_switch, index, per, before);
    add_latency_terms(link_class.name + ".sharp-gpu-latency", class_model.in_switch->gpu_latency,
                      microsecond, TermKind::gpu_in_switch, index, per, before);
    differentiate(
        link_class.name + ".sharp-efficiency", class_model.in_switch->efficiency,
        -1e-3 * link_class.sharp_efficiency,
        [&](Phase& phase, const PhaseCost& old_cost, const PhaseCost& new_cost) {
          mark_in_switch(phase, old_cost, new_cost, index);
        },
        before);
  }

  // Finds the parts of a phase's level seconds that are inversely proportional to the efficiency of
  // a class of links.
  void find_level_terms(std::size_t index, const cluster::ClassModel& class_model,
                        const Choices& before) {
    const double lower = class_model.efficiency * (1 - 1e-3);
    const double growth = 1 / lower - 1 / class_model.efficiency;
    differentiate(
        priced_.classes_[index].name + ".efficiency", class_model.efficiency,
        lower - class_model.efficiency,
        [&](Phase& phase, const PhaseCost& old_cost, const PhaseCost& new_cost) {
          if (old_cost.level_seconds == new_cost.level_seconds) return;
          phase.levels.resize(priced_.classes_.size());
          for (std::size_t p = 0; p < old_cost.level_seconds.size(); ++p) {
            phase.levels[index][p] =
                (new_cost.level_seconds[p] - old_cost.level_seconds[p]) / growth;
            phase.cost.level_seconds[p] -= phase.levels[index][p] / class_model.efficiency;
          }
        },
        before);
  }

  // Marks the flows through reducing switches. They are found by their paths: those of flows whose
  // bytes change when the switches' efficiency falls.
  void mark_in_switch(Phase& phase, const PhaseCost& before, const PhaseCost& after,
                      std::size_t index) {
    double grown = 0;
    std::vector<execution::Flow> flows;
    for (std::size_t i = 0; i < std::min(before.flows.size(), after.flows.size()); ++i)
      if (after.flows[i].bytes != before.flows[i].bytes) {
        grown += before.flows[i].bytes;
        flows.push_back(before.flows[i]);
      }
    if (grown <= 0) return;
    phase.switch_class = index;
    std::set<std::size_t> paths;
    for (const execution::Flow& flow : flows)
      paths.insert(path_of(run_.placement.route(flow.source, flow.destination).links));
    for (Load& load : phase.loads)
      for (Flow& flow : load.flows) flow.in_switch = paths.contains(flow.path);
  }

  // Subtracts the values of all terms from the phase's latency and ends, so that only the parts
  // that no term covers remain.
  void subtract_terms(std::size_t choice, std::size_t index, const MessageModel& model) {
    Phase& phase = priced_.actual_.choices[choice][index];
    phase.cost.ends -=
        phase.ends_of_ring * model.ring_ends + phase.ends_of_direct * model.direct_ends;
    for (std::size_t p = 0; p < phase.cost.latency.size(); ++p) {
      double& latency = phase.cost.latency[p];
      if (index == 0) latency -= launch(phase.cost, static_cast<Protocol>(p), model);
      for (const Term& term : phase.terms) {
        const double number = priced_.number(term, p, priced_.classes_of(model), model);
        latency -= term.times[p] * number;
        phase.cost.round_latency[p] -= term.round_times[p] * number;
      }
    }
  }

  PricedRun& priced_;
  cluster::Cluster& cluster_;
  const BenchmarkRun& run_;
  std::map<std::string, std::size_t> class_of_;
  std::set<const Class*> classes_with_latency_;
};

PricedRun::PricedRun(cluster::Cluster& cluster, const BenchmarkRun& run) {
  Planner(*this, cluster, run).make();
}

}  // namespace pipewright::comm
