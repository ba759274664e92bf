#include "sim/comm/priced_run.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

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

double protocol_latency(const cluster::ClassModel& of, std::size_t protocol) {
  return of.by[protocol] ? of.by[protocol]->latency : 1;
}

// Of an operation's first step.
double launch(const PhaseCost& first, Protocol protocol, const MessageModel& model) {
  const bool is_simple = protocol == Protocol::simple && !first.is_raw;
  return model.launch + (is_simple ? model.simple_launch : 0) +
         (protocol == Protocol::ll128 ? model.ll128_launch : 0);
}

}  // namespace

// Plans the run on the cluster as it is, and with one number after the other a little larger.
class PricedRun::Maker {
 public:
  Maker(PricedRun& priced, cluster::Cluster& cluster, const BenchmarkRun& run)
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
    priced_.says_expected_ = cluster_.has_tuning_model();
    priced_.kind_ = collective_of(run_.operation);
    if (variants > 1) look_as_nccl(actual);
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
  void look_as_nccl(const Choices& actual) {
    const std::vector<std::uint32_t>& members = run_.groups.front();
    const auto view = execution::nccl_view(priced_.kind_, members, actual, run_.placement);
    if (!view) return;
    priced_.view_ = View{.view = *view};
    View& seen = *priced_.view_;
    const auto nodes = run_.placement.by_node(members);
    for (const std::vector<std::uint32_t>& node : nodes) {
      if (node.size() < 2) continue;
      const cluster::Route route = run_.placement.route(node[0], node[1]);
      for (const Link* link : route.way()) {
        const std::string& name = cluster_.link_class(link);
        seen.inside.push_back({class_of_.at(name), cluster_.capacity_of(link, Numbers::actual) /
                                                       cluster_.model().of(name).efficiency});
      }
      break;
    }
    if (nodes.size() < 2) return;
    const cluster::Route route = run_.placement.route(nodes[0].front(), nodes[1].front());
    seen.beside = route.latency;
    for (const Link* link : route.way()) {
      seen.between.push_back({class_of_.at(cluster_.link_class(link)), cluster_.latency_of(link)});
      seen.beside -= cluster_.latency_of(link);
    }
  }

  void add_latency(const Link* link) {
    Class& one = priced_.classes_[class_of_.at(cluster_.link_class(link))];
    const double latency = cluster_.latency_of(link);
    if (!seen_.insert(&one).second)
      one.has_latency = one.has_latency && one.latency == latency;
    else
      std::tie(one.latency, one.has_latency) = std::pair(latency, true);
  }

  Choices choices(const execution::RankPlacement& placement) const {
    return execution::algorithm_choices(collective_of(run_.operation), run_.groups.front(),
                                        run_.algorithm, placement);
  }

  std::size_t way_of(const std::vector<const Link*>& links) {
    std::vector<std::size_t> classes;
    for (const Link* link : links) classes.push_back(class_of_.at(cluster_.link_class(link)));
    std::ranges::sort(classes);
    const auto repeated = std::ranges::unique(classes);
    classes.erase(repeated.begin(), repeated.end());
    const auto found = std::ranges::find(priced_.ways_, classes);
    if (found != priced_.ways_.end())
      return static_cast<std::size_t>(found - priced_.ways_.begin());
    priced_.ways_.push_back(std::move(classes));
    return priced_.ways_.size() - 1;
  }

  Phase phase(const PhaseCost& cost, const execution::RankPlacement& placement) {
    std::map<const Link*, std::vector<std::pair<std::size_t, double>>> by_link;
    for (const execution::Flow& flow : cost.flows) {
      const cluster::Route route = placement.route(flow.source, flow.destination);
      const std::size_t way = way_of(route.links);
      for (const Link* link : route.links) {
        auto& flows = by_link[link];
        const auto same = std::ranges::find(flows, way, &std::pair<std::size_t, double>::first);
        if (same == flows.end())
          flows.emplace_back(way, flow.bytes);
        else if (cluster::is_shared(link))
          same->second += flow.bytes;
        else
          same->second = std::max(same->second, flow.bytes);
      }
    }
    Phase made{.cost = cost};
    made.cost.flows.clear();
    for (auto& [link, flows] : by_link) {
      Load load{.link_class = class_of_.at(cluster_.link_class(link)),
                .bandwidth = cluster_.capacity_of(link, Numbers::actual) /
                             cluster_.model().of(cluster_.link_class(link)).efficiency,
                .shared = cluster::is_shared(link)};
      std::ranges::sort(flows);
      for (const auto& [way, bytes] : flows) load.flows.push_back({.way = way, .bytes = bytes});
      made.loads.push_back(std::move(load));
    }
    std::ranges::sort(made.loads);
    const auto repeated = std::ranges::unique(made.loads);
    made.loads.erase(repeated.begin(), repeated.end());
    return made;
  }

  Plan plan(const Choices& choices, const execution::RankPlacement& placement) {
    Plan made;
    for (const AlgorithmChoice& choice : choices) {
      for (const Protocol protocol : choice.protocols)
        made.variants.push_back(
            {.by = {choice.algorithm, protocol}, .choice = made.choices.size()});
      std::vector<Phase>& phases = made.choices.emplace_back();
      for (const PhaseCost& cost : choice.phases) phases.push_back(phase(cost, placement));
    }
    return made;
  }

  // Has each phase look at what it would be with a number of the model a little larger.
  void look(const std::string& name, double value, double step,
            const std::function<void(Phase&, const PhaseCost& before, const PhaseCost& after)>& at,
            const Choices& before) {
    cluster_.set_parameter(name, value + step);
    const Choices after = choices(run_.placement);
    cluster_.set_parameter(name, value);
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
      for (std::size_t p = 0; p < before[i].phases.size(); ++p)
        at(priced_.actual_.choices[i][p], before[i].phases[p], after[i].phases[p]);
  }

  // A term of each phase whose latency changes, by protocol over `per`.
  void look_at_latency(const std::string& name, double value, double step, Of of,
                       std::size_t link_class, const ByProtocol& per, const Choices& before) {
    const auto at = [&](Phase& phase, const PhaseCost& was, const PhaseCost& is) {
      Term term{.of = of, .link_class = link_class};
      bool any = false;
      for (std::size_t p = 0; p < per.size(); ++p) {
        if (per[p] <= 0 || is.latency[p] == was.latency[p]) continue;
        term.times[p] = (is.latency[p] - was.latency[p]) / step / per[p];
        any = true;
      }
      if (any) phase.terms.push_back(term);
    };
    look(name, value, step, at, before);
  }

  void find_terms(const Choices& before) {
    constexpr double second = 1e-6;  // of a step aside
    ByProtocol once;
    once.fill(1);
    const MessageModel model = cluster_.model();
    look_at_latency("collective.step", model.step, second, Of::step, 0, once, before);
    look_at_latency("collective.message", model.message, second, Of::message, 0, once, before);
    look(
        "collective.ring-ends", model.ring_ends, 1,
        [](Phase& phase, const PhaseCost& was, const PhaseCost& is) {
          phase.ends_of_ring = is.ends - was.ends;
        },
        before);
    look(
        "collective.direct-ends", model.direct_ends, 1,
        [](Phase& phase, const PhaseCost& was, const PhaseCost& is) {
          phase.ends_of_direct = is.ends - was.ends;
        },
        before);
    for (std::size_t i = 0; i < priced_.classes_.size(); ++i)
      if (is_used(i)) find_terms_of(i, model.of(priced_.classes_[i].name), before);
    for (std::size_t i = 0; i < before.size(); ++i)
      for (std::size_t p = 0; p < before[i].phases.size(); ++p) take_out(i, p, model);
  }

  bool is_used(std::size_t link_class) const {
    return std::ranges::any_of(priced_.ways_, [&](const std::vector<std::size_t>& way) {
      return std::ranges::binary_search(way, link_class);
    });
  }

  void find_terms_of(std::size_t index, const cluster::ClassModel of, const Choices& before) {
    constexpr double second = 1e-6;
    Class& one = priced_.classes_[index];
    if (of.message) {
      ByProtocol each;
      each.fill(1);
      look_at_latency(one.name + ".message", *of.message, second, Of::class_message, index, each,
                      before);
    }
    if (one.has_latency) {
      ByProtocol per;
      for (std::size_t p = 0; p < per.size(); ++p) per[p] = protocol_latency(of, p);
      look_at_latency(one.name + ".latency", one.latency, second, Of::hop, index, per, before);
    } else {
      for (const auto& [p, suffix] :
           {std::pair{Protocol::ll, ".ll-latency"}, std::pair{Protocol::ll128, ".ll128-latency"}}) {
        const auto at = static_cast<std::size_t>(p);
        if (!of.by[at]) continue;
        ByProtocol per{};
        per[at] = 1;
        look_at_latency(one.name + suffix, of.by[at]->latency, 1e-3, Of::protocol, index, per,
                        before);
      }
    }
    if (!of.in_switch) return;
    one.sharp_efficiency = of.in_switch->efficiency;
    ByProtocol once;
    once.fill(1);
    look_at_latency(one.name + ".sharp-latency", of.in_switch->latency, second, Of::in_switch,
                    index, once, before);
    look(
        one.name + ".sharp-efficiency", of.in_switch->efficiency, -1e-3 * one.sharp_efficiency,
        [&](Phase& phase, const PhaseCost& was, const PhaseCost& is) {
          mark_in_switch(phase, was, is, index);
        },
        before);
  }

  // Loads whose flows all grow are of the switches; where only some do, a load is taken for one of
  // them if most of its bytes grow.
  void mark_in_switch(Phase& phase, const PhaseCost& was, const PhaseCost& is, std::size_t index) {
    double grown = 0;
    std::vector<execution::Flow> flows;
    for (std::size_t i = 0; i < std::min(was.flows.size(), is.flows.size()); ++i)
      if (is.flows[i].bytes != was.flows[i].bytes) {
        grown += was.flows[i].bytes;
        flows.push_back(was.flows[i]);
      }
    if (grown <= 0) return;
    phase.switch_class = index;
    std::set<std::size_t> ways;
    for (const execution::Flow& flow : flows)
      ways.insert(way_of(run_.placement.route(flow.source, flow.destination).links));
    for (Load& load : phase.loads)
      for (Flow& flow : load.flows) flow.in_switch = ways.contains(flow.way);
  }

  // What no term is of stays as the phase's own latency, and likewise its ends.
  void take_out(std::size_t choice, std::size_t index, const MessageModel& model) {
    Phase& phase = priced_.actual_.choices[choice][index];
    phase.cost.ends -=
        phase.ends_of_ring * model.ring_ends + phase.ends_of_direct * model.direct_ends;
    for (std::size_t p = 0; p < phase.cost.latency.size(); ++p) {
      double& latency = phase.cost.latency[p];
      if (index == 0) latency -= launch(phase.cost, static_cast<Protocol>(p), model);
      for (const Term& term : phase.terms)
        latency -= priced_.seconds(term, p, priced_.classes_of(model), model);
    }
  }

  PricedRun& priced_;
  cluster::Cluster& cluster_;
  const BenchmarkRun& run_;
  std::map<std::string, std::size_t> class_of_;
  std::set<const Class*> seen_;
};

PricedRun::PricedRun(cluster::Cluster& cluster, const BenchmarkRun& run) {
  Maker(*this, cluster, run).make();
}

std::vector<const cluster::ClassModel*> PricedRun::classes_of(const MessageModel& model) const {
  std::vector<const cluster::ClassModel*> found;
  for (const Class& one : classes_) found.push_back(&model.of(one.name));
  return found;
}

double PricedRun::seconds(const Term& term, std::size_t protocol,
                          const std::vector<const cluster::ClassModel*>& classes,
                          const MessageModel& model) const {
  const double times = term.times[protocol];
  if (times == 0) return 0;
  if (term.of == Of::step) return times * model.step;
  if (term.of == Of::message) return times * model.message;
  const cluster::ClassModel& of = *classes[term.link_class];
  if (term.of == Of::class_message) return times * of.message.value_or(model.message);
  if (term.of == Of::in_switch) return of.in_switch ? times * of.in_switch->latency : 0;
  if (term.of == Of::protocol) return times * protocol_latency(of, protocol);
  return times * of.latency.value_or(classes_[term.link_class].latency) *
         protocol_latency(of, protocol);
}

PricedRun::Prices::Step PricedRun::price(const Phase& phase, Protocol by,
                                         const std::vector<const cluster::ClassModel*>& classes,
                                         const MessageModel& model) const {
  const auto protocol = static_cast<std::size_t>(by);
  const auto& switches = classes[phase.switch_class]->in_switch;
  const double switched =
      switches ? classes_[phase.switch_class].sharp_efficiency / switches->efficiency : 1;
  const auto on_wire = [&](const Flow& flow) {
    double efficiency = phase.cost.is_raw ? 1 : std::numeric_limits<double>::infinity();
    if (!phase.cost.is_raw)
      for (const std::size_t one : ways_[flow.way]) {
        const auto& cost = classes[one]->by[protocol];
        efficiency = std::min(efficiency, cost ? cost->efficiency : 1);
      }
    return flow.bytes / std::min(efficiency, 1.0) * (flow.in_switch ? switched : 1);
  };
  Prices::Step step{.latency = phase.cost.latency[protocol],
                    .ends = phase.cost.ends + phase.ends_of_ring * model.ring_ends +
                            phase.ends_of_direct * model.direct_ends,
                    .is_tree = phase.cost.is_tree};
  for (const Load& load : phase.loads) {
    double wire = 0;
    for (const Flow& flow : load.flows)
      wire = load.shared ? wire + on_wire(flow) : std::max(wire, on_wire(flow));
    step.transfer =
        std::max(step.transfer, wire / (load.bandwidth * classes[load.link_class]->efficiency));
  }
  for (const Term& term : phase.terms) step.latency += seconds(term, protocol, classes, model);
  return step;
}

std::vector<PricedRun::Prices::Variant> PricedRun::prices(const Plan& plan,
                                                          const MessageModel& model,
                                                          bool is_actual) const {
  const std::vector<const cluster::ClassModel*> classes = classes_of(model);
  std::vector<Prices::Variant> all;
  for (const Variant& variant : plan.variants) {
    Prices::Variant& one = all.emplace_back(Prices::Variant{variant.by, {}});
    const std::vector<Phase>& phases = plan.choices[variant.choice];
    for (const Phase& phase : phases)
      one.steps.push_back(price(phase, variant.by.protocol, classes, model));
    if (is_actual && !one.steps.empty())
      one.steps.front().latency += launch(phases.front().cost, variant.by.protocol, model);
  }
  return all;
}

PricedRun::Prices PricedRun::prices(const MessageModel& model) const {
  Prices found;
  found.actual_ = prices(actual_, model, true);
  if (found.actual_.size() > 1) found.expected_ = expected_;
  found.kind_ = kind_;
  if (view_) found.view_ = view_for(model);
  return found;
}

execution::NcclView PricedRun::view_for(const MessageModel& model) const {
  const std::vector<const cluster::ClassModel*> classes = classes_of(model);
  execution::NcclView view = view_->view;
  if (view_->ring_bytes > 0)
    view.bus_bandwidth =
        view_->ring_bytes /
        price(actual_.choices.front().front(), Protocol::simple, classes, model).transfer;
  if (!view_->inside.empty()) {
    view.gpu_bandwidth = std::numeric_limits<double>::infinity();
    for (const View::Hop& hop : view_->inside)
      view.gpu_bandwidth =
          std::min(view.gpu_bandwidth, hop.own * classes[hop.link_class]->efficiency);
  }
  if (!view_->between.empty() && view_->ring_bytes > 0) {
    double step = view_->beside;
    for (const View::Hop& hop : view_->between)
      step += classes[hop.link_class]->latency.value_or(hop.own);
    view.nic_latency = execution::nccl_network_latency(step);
  }
  return view;
}

void PricedRun::expect(const MessageModel* model) {
  if (says_expected_) return;
  expected_.clear();
  if (model != nullptr) expected_ = prices(actual_, *model, true);
}

double PricedRun::Prices::Variant::seconds(double bytes) const {
  double sum = 0;
  for (const Step& step : steps) {
    execution::PhaseCost cost{.flows = {}, .ends = step.ends, .is_tree = step.is_tree};
    const auto at = static_cast<std::size_t>(by.protocol);
    cost.latency[at] = step.latency;
    execution::ByProtocol transfer{};
    transfer[at] = step.transfer;
    sum += step.transfer * bytes + overhead(cost, transfer, by.protocol, bytes);
  }
  return sum;
}

// What NCCL takes for the fastest.
std::size_t PricedRun::Prices::choice(double bytes) const {
  const std::vector<Variant>& by = expected_.empty() ? actual_ : expected_;
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < by.size() && by.size() > 1; ++i) {
    const double found =
        view_ ? nccl_seconds(kind_, by[i].by, bytes, *view_) : by[i].seconds(bytes);
    if (found >= least) continue;
    least = found;
    best = i;
  }
  return best;
}

double PricedRun::Prices::seconds(std::uint64_t bytes) const {
  if (actual_.empty() || bytes == 0) return 0;
  const auto count = static_cast<double>(bytes);
  return actual_[choice(count)].seconds(count);
}

Protocol PricedRun::Prices::protocol(std::uint64_t bytes) const {
  return actual_.empty() ? Protocol::simple
                         : actual_[choice(static_cast<double>(bytes))].by.protocol;
}

}  // namespace pipewright::comm
