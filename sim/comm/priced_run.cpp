#include "sim/comm/priced_run.hpp"

#include <algorithm>
#include <limits>

#include "sim/execution/collectives/plan.hpp"

namespace pipewright::comm {
namespace {

using cluster::MessageModel;
using cluster::Protocol;

}  // namespace

double PricedRun::protocol_latency(const cluster::ClassModel& class_model, std::size_t protocol) {
  return class_model.per_protocol[protocol] ? class_model.per_protocol[protocol]->latency : 1;
}

double PricedRun::launch(const execution::PhaseCost& first, Protocol protocol,
                         const MessageModel& model) {
  const bool is_simple = protocol == Protocol::simple && !first.is_raw;
  return model.launch + (is_simple ? model.simple_launch : 0) +
         (protocol == Protocol::ll128 ? model.ll128_launch : 0);
}

std::vector<const cluster::ClassModel*> PricedRun::classes_of(const MessageModel& model) const {
  std::vector<const cluster::ClassModel*> models;
  for (const Class& link_class : classes_) models.push_back(&model.of(link_class.name));
  return models;
}

double PricedRun::number(const Term& term, std::size_t protocol,
                         const std::vector<const cluster::ClassModel*>& classes,
                         const MessageModel& model) const {
  const cluster::ClassModel& class_model = *classes[term.link_class];
  switch (term.kind) {
    case TermKind::step:
      return model.step;
    case TermKind::post:
      return model.post;
    case TermKind::message:
      return model.message;
    case TermKind::class_message:
      return class_model.message.value_or(model.message);
    case TermKind::in_switch:
      return class_model.in_switch ? class_model.in_switch->latency : 0;
    case TermKind::gpu_in_switch:
      return class_model.in_switch ? class_model.in_switch->gpu_latency : 0;
    case TermKind::protocol:
      return protocol_latency(class_model, protocol);
    case TermKind::hop:
      return class_model.latency.value_or(classes_[term.link_class].latency) *
             protocol_latency(class_model, protocol);
  }
  return 0;
}

// Ratio by which bytes through the reducing switches of a class grow for other numbers than those
// of the plan.
double PricedRun::switch_factor_of(std::size_t link_class,
                                   const std::vector<const cluster::ClassModel*>& classes) const {
  const auto& switches = classes[link_class]->in_switch;
  return switches ? classes_[link_class].sharp_efficiency / switches->efficiency : 1;
}

// The same ratio for bytes on the wire by a protocol.
double PricedRun::protocol_factor(std::size_t link_class, std::size_t protocol,
                                  const std::vector<const cluster::ClassModel*>& classes) const {
  const auto& cost = classes[link_class]->per_protocol[protocol];
  return cost ? classes_[link_class].protocol_efficiency[protocol] / cost->efficiency : 1;
}

PricedRun::Prices::Step PricedRun::price(const Phase& phase, Protocol chosen_protocol,
                                         const std::vector<const cluster::ClassModel*>& classes,
                                         const MessageModel& model) const {
  const auto protocol = static_cast<std::size_t>(chosen_protocol);
  const double switch_factor = switch_factor_of(phase.switch_class, classes);
  const auto wire_bytes = [&](const Flow& flow) {
    double efficiency = phase.cost.is_raw ? 1 : std::numeric_limits<double>::infinity();
    double direct = 1;
    if (phase.cost.is_direct)
      for (const std::size_t link_class : paths_[flow.path])
        direct = std::min(direct, classes[link_class]->direct_efficiency);
    if (!phase.cost.is_raw)
      for (const std::size_t link_class : paths_[flow.path]) {
        const auto& cost = classes[link_class]->per_protocol[protocol];
        efficiency = std::min(efficiency, cost ? cost->efficiency : 1);
      }
    return flow.bytes / std::min(efficiency, 1.0) / direct * (flow.in_switch ? switch_factor : 1);
  };
  Prices::Step step{.latency = phase.cost.latency[protocol],
                    .ends = phase.cost.ends + phase.ends_of_ring * model.ring_ends +
                            phase.ends_of_direct * model.direct_ends,
                    .level_seconds = phase.cost.level_seconds[protocol],
                    .round_latency = phase.cost.round_latency[protocol],
                    .chunking = phase.cost.chunking};
  for (std::size_t i = 0; i < phase.levels.size(); ++i)
    step.level_seconds +=
        phase.levels[i][protocol] / classes[i]->efficiency *
        (phase.cost.is_raw ? switch_factor_of(i, classes) : protocol_factor(i, protocol, classes));
  for (const Load& load : phase.loads) {
    double wire = 0;
    for (const Flow& flow : load.flows)
      wire = load.is_shared ? wire + wire_bytes(flow) : std::max(wire, wire_bytes(flow));
    step.transfer =
        std::max(step.transfer, wire / (load.bandwidth * classes[load.link_class]->efficiency));
  }
  for (const Term& term : phase.terms) {
    const double value = number(term, protocol, classes, model);
    step.latency += term.times[protocol] * value;
    step.round_latency += term.round_times[protocol] * value;
  }
  return step;
}

std::vector<PricedRun::Prices::Variant> PricedRun::prices(const Plan& plan,
                                                          const MessageModel& model,
                                                          bool is_actual) const {
  const std::vector<const cluster::ClassModel*> classes = classes_of(model);
  std::vector<Prices::Variant> result;
  for (const Variant& variant : plan.variants) {
    Prices::Variant& result_variant = result.emplace_back(Prices::Variant{variant.method, {}});
    const std::vector<Phase>& phases = plan.choices[variant.choice];
    for (const Phase& phase : phases)
      result_variant.steps.push_back(price(phase, variant.method.protocol, classes, model));
    if (is_actual && !result_variant.steps.empty())
      result_variant.steps.front().latency +=
          launch(phases.front().cost, variant.method.protocol, model);
  }
  return result;
}

PricedRun::Prices PricedRun::prices(const MessageModel& model) const {
  Prices result;
  result.actual_ = prices(actual_, model, true);
  if (result.actual_.size() > 1) result.expected_ = expected_;
  result.kind_ = kind_;
  if (view_) result.view_ = view_for(model);
  if (result.actual_.size() > 1 && (result.view_ || !result.expected_.empty()))
    result.picks_ = picks_of(result);
  return result;
}

// Returns the variants that NCCL picks by these prices. Most changes of numbers do not change
// NCCL's own model, so the last picks are reused.
execution::Picks PricedRun::picks_of(const Prices& prices) const {
  if (!has_picks_ || picks_view_ != prices.view_) {
    last_picks_ = {prices.actual_.size(), [&](std::size_t variant, double bytes) {
                     return prices.estimate(variant, bytes);
                   }};
    picks_view_ = prices.view_;
    has_picks_ = true;
  }
  return last_picks_;
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
          std::min(view.gpu_bandwidth, hop.value * classes[hop.link_class]->efficiency);
  }
  if (!view_->between.empty() && view_->ring_bytes > 0) {
    double step = view_->non_link_latency;
    for (const View::Hop& hop : view_->between)
      step += classes[hop.link_class]->latency.value_or(hop.value);
    view.nic_latency = execution::nccl_network_latency(step);
    view.nic_bandwidth = std::numeric_limits<double>::infinity();
    for (const View::Hop& hop : view_->rates)
      view.nic_bandwidth =
          std::min(view.nic_bandwidth, hop.value * classes[hop.link_class]->efficiency);
  }
  return view;
}

void PricedRun::assume(const MessageModel* model) {
  if (file_has_expected_) return;
  expected_.clear();
  has_picks_ = false;
  if (model != nullptr) expected_ = prices(actual_, *model, true);
}

double PricedRun::Prices::Variant::seconds(double bytes) const {
  double sum = 0;
  for (const Step& step : steps) {
    execution::PhaseCost cost{.flows = {}, .ends = step.ends, .chunking = step.chunking};
    const auto protocol = static_cast<std::size_t>(method.protocol);
    cost.latency[protocol] = step.latency;
    cost.level_seconds[protocol] = step.level_seconds;
    cost.round_latency[protocol] = step.round_latency;
    execution::ByProtocol transfer{};
    transfer[protocol] = step.transfer;
    sum += step.transfer * bytes + overhead(cost, transfer, method.protocol, bytes);
  }
  return sum;
}

// NCCL's estimate of the seconds of a variant.
double PricedRun::Prices::estimate(std::size_t variant, double bytes) const {
  if (view_) return nccl_seconds(kind_, actual_[variant].method, bytes, *view_);
  return expected_[variant].seconds(bytes);
}

// Returns the index of the algorithm and protocol by which a plan runs this size.
std::size_t PricedRun::Prices::choice(double bytes) const {
  if (actual_.size() < 2) return 0;
  const auto estimate_of = [&](std::size_t variant, double size) {
    return estimate(variant, size);
  };
  const bool is_picked = view_ || !expected_.empty();
  const execution::Picks::Set picks =
      is_picked ? picks_.from(bytes, estimate_of) : ~execution::Picks::Set{0};
  std::size_t best = 0;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < actual_.size(); ++i) {
    if (!execution::Picks::contains(picks, i)) continue;
    const double seconds = actual_[i].seconds(bytes);
    if (seconds >= lowest) continue;
    lowest = seconds;
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
                         : actual_[choice(static_cast<double>(bytes))].method.protocol;
}

}  // namespace pipewright::comm
