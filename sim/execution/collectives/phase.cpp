#include "sim/execution/collectives/phase.hpp"

#include <algorithm>

#include "sim/execution/collectives/many_routes.hpp"

namespace pipewright::execution {
namespace {

std::size_t protocol_index(Protocol protocol) { return static_cast<std::size_t>(protocol); }

}  // namespace

double on_wire(const PhaseCost& cost, const cluster::Route& route, Protocol protocol) {
  const bool is_payload = protocol == Protocol::simple || cost.is_raw;
  const double wire = is_payload ? 1 : 1 / route.per_protocol[protocol_index(protocol)].efficiency;
  return cost.is_direct ? wire / route.direct_efficiency : wire;
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
  ManyRoutes routes(placement, cost.flows.size());
  for (const Flow& flow : cost.flows) {
    const cluster::Route& route = routes.route(flow.source, flow.destination);
    ByProtocol bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = flow.bytes * on_wire(cost, route, static_cast<Protocol>(i));
    loads.add(route, bytes);
  }
  return loads.busiest_seconds();
}

double overhead(const PhaseCost& cost, const ByProtocol& transfer, Protocol protocol,
                double bytes) {
  const std::size_t index = protocol_index(protocol);
  const double chunks = bytes_at_once(cost.chunking, protocol, bytes);
  return cost.latency[index] + cost.ends * transfer[index] * bytes +
         cost.level_seconds[index] * chunks +
         cost.round_latency[index] * further_rounds(cost.chunking, protocol, bytes);
}

Phase phase_of(const PhaseCost& cost, const ByProtocol& transfer, Protocol protocol, double bytes,
               const RankPlacement& placement) {
  Phase phase{.flows = cost.flows, .latency = overhead(cost, transfer, protocol, bytes)};
  ManyRoutes routes(placement, cost.flows.size());
  for (Flow& flow : phase.flows) {
    flow.bytes *= bytes;
    if (protocol != Protocol::simple || cost.is_direct)
      flow.bytes *= on_wire(cost, routes.route(flow.source, flow.destination), protocol);
  }
  return phase;
}

bool has_message_costs(const cluster::MessageModel& model) {
  return !model.classes.empty() || model.launch > 0 || model.simple_launch > 0 ||
         model.ll128_launch > 0 || model.step > 0 || model.post > 0 || model.message > 0 ||
         model.ring_ends > 0 || model.direct_ends > 0;
}

}  // namespace pipewright::execution
