#include "sim/goodput/simgrid/job_network.hpp"

#include <memory>
#include <string>

#include <fmt/format.h>
#if SIMGRID_VERSION >= 40000
#include <simgrid/s4u/ActivitySet.hpp>
#endif

#include "sim/cluster/simgrid/flow_zone.hpp"

namespace pipewright::goodput {
namespace {

// Indices of a job's hosts in the zone of all jobs, modulo `ends`.
enum End : unsigned long { at_job, at_peers, at_storage, ends };

}  // namespace

double JobNetwork::pace(const Setting& setting) {
  constexpr double arbitrary = 1e9;  // Far above SimGrid's precision of bandwidths.
  return shares_network(setting) ? setting.traffic : arbitrary;
}

std::vector<JobNetwork> make_job_networks(const Setting& setting, std::size_t jobs) {
  auto networks = std::make_shared<std::vector<JobNetwork>>(jobs);
  cluster::FlowZone& zone = cluster::make_zone(
      "goodput",
      [networks, training_shares = setting.traffic > 0](
          unsigned long source, unsigned long destination, std::vector<const sg4::Link*>& route) {
        const JobNetwork& network = networks->at(source / ends);
        const bool trains = destination % ends == at_peers;
        route.push_back(trains                             ? network.training
                        : destination % ends == at_storage ? network.write
                                                           : network.read);
        if (network.network != nullptr && (!trains || training_shares))
          route.push_back(network.network);
      });
  for (std::size_t i = 0; i < jobs; ++i) {
    JobNetwork& network = (*networks)[i];
    const auto host = [&](const char* name) {
      return zone.add_host(fmt::format("{}-{}", name, i), 1e9, 1);
    };
    const auto link = [&](const char* name, double rate) {
      auto& zone_impl = static_cast<simgrid::kernel::routing::NetZoneImpl&>(zone);
      return cluster::add_link(zone_impl, fmt::format("{}-{}", name, i), rate)->seal();
    };
    network.job = host("job");
    network.peers = host("peers");
    network.storage = host("storage");
    network.training = link("training", JobNetwork::pace(setting));
    network.write = link("write", setting.storage);
    network.read = link("read", setting.read);
    if (setting.network > 0) network.network = link("network", setting.network);
  }
  zone.seal();
  return *networks;
}

std::optional<std::size_t> wait_for_first(const std::vector<sg4::CommPtr>& flows, double seconds) {
  const double timeout = seconds == never ? -1 : seconds;
  if (flows.empty()) {
    sg4::this_actor::sleep_for(seconds);
    return std::nullopt;
  }
#if SIMGRID_VERSION >= 40000
  sg4::ActivitySet waiting;
  for (const sg4::CommPtr& flow : flows) waiting.push(flow);
  try {
    const sg4::ActivityPtr ended = waiting.wait_any_for(timeout);
    for (std::size_t i = 0; i < flows.size(); ++i)
      if (flows[i] == ended) return i;
  } catch (const simgrid::TimeoutException&) {
  }
  return std::nullopt;
#else
  const auto ended = sg4::Comm::wait_any_for(flows, timeout);
  return ended < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(ended));
#endif
}

}  // namespace pipewright::goodput
