#include "sim/execution/collectives/phase.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::execution {
namespace {

std::size_t protocol_index(Protocol protocol) { return static_cast<std::size_t>(protocol); }

}  // namespace

double on_wire(const PhaseCost& cost, const cluster::Route& route, Protocol protocol) {
  const bool is_payload = protocol == Protocol::simple || cost.is_raw;
  return is_payload ? 1 : 1 / route.per_protocol[protocol_index(protocol)].efficiency;
}

void LinkLoads::add(const cluster::Route& route, const ByProtocol& bytes) {
  for (const cluster::Link* link : route.links) {
    const bool shared = cluster::is_shared(link);
    ByProtocol& load = load_by_link_[link];
    for (std::size_t i = 0; i < load.size(); ++i)
      load[i] = shared ? load[i] + bytes[i] : std::max(load[i], bytes[i]);
  }
}

ByProtocol LinkLoads::busiest_seconds() const {
  ByProtocol seconds{};
  for (const auto& [link, load] : load_by_link_) {
    const double bandwidth = placement_.capacity_of(link);
    for (std::size_t i = 0; i < load.size(); ++i)
      seconds[i] = std::max(seconds[i], load[i] / bandwidth);
  }
  return seconds;
}

void repeat(std::vector<Phase>& phases, std::uint32_t times) {
  for (Phase& phase : phases) {
    phase.latency *= times;
    for (Flow& flow : phase.flows) flow.bytes *= times;
  }
}

LinkLoads loads(const Phase& phase, const RankPlacement& placement) {
  LinkLoads loads(placement);
  for (const Flow& flow : phase.flows)
    loads.add(placement.route(flow.source, flow.destination), flow.bytes);
  return loads;
}

double uncontended_seconds(std::span<const Phase> phases, const RankPlacement& placement) {
  double seconds = 0;
  for (const Phase& phase : phases)
    seconds += loads(phase, placement).busiest_seconds().front() + phase.latency;
  return seconds;
}

ByProtocol transfer(const PhaseCost& cost, const RankPlacement& placement) {
  LinkLoads loads(placement);
  for (const Flow& flow : cost.flows) {
    const cluster::Route route = placement.route(flow.source, flow.destination);
    ByProtocol bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = flow.bytes * on_wire(cost, route, static_cast<Protocol>(i));
    loads.add(route, bytes);
  }
  return loads.busiest_seconds();
}

double overhead(const PhaseCost& cost, const ByProtocol& transfer, Protocol protocol,
                double bytes) {
  double lost = cost.ends;
  if (cost.is_tree) lost += 1 / tree_efficiency(protocol, bytes) - 1;
  return cost.latency[protocol_index(protocol)] + lost * transfer[protocol_index(protocol)] * bytes;
}

Phase phase_of(const PhaseCost& cost, const ByProtocol& transfer, Protocol protocol, double bytes,
               const RankPlacement& placement) {
  Phase phase{.flows = cost.flows, .latency = overhead(cost, transfer, protocol, bytes)};
  for (Flow& flow : phase.flows) {
    flow.bytes *= bytes;
    if (protocol != Protocol::simple)
      flow.bytes *= on_wire(cost, placement.route(flow.source, flow.destination), protocol);
  }
  return phase;
}

bool has_message_costs(const cluster::MessageModel& model) {
  return !model.classes.empty() || model.launch > 0 || model.simple_launch > 0 ||
         model.ll128_launch > 0 || model.step > 0 || model.message > 0 || model.ring_ends > 0 ||
         model.direct_ends > 0;
}

// Table from src/graph/tuning.cc of NCCL 2.30: 0.92 times treeCorrectionFactor, with an entry for
// each power of two from 64 B on. Values between two entries are interpolated.
double tree_efficiency(Protocol protocol, double bytes) {
  constexpr std::size_t powers = 25;
  constexpr std::array<std::array<double, powers>, cluster::protocols> correction{{
      {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5,
       .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9, 1},
      {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1, 1},
      {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1, 1},
  }};
  const double power = std::clamp(std::log2(bytes / 64), 0.0, powers - 1.0);
  const auto lower = static_cast<std::size_t>(power);
  const std::array<double, powers>& factors = correction[protocol_index(protocol)];
  return 0.92 * std::lerp(factors[lower], factors[std::min(lower + 1, powers - 1)],
                          power - std::floor(power));
}

}  // namespace pipewright::execution
