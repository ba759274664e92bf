#include "sim/goodput/simgrid/lines.hpp"

#include <memory>
#include <string>

#include <fmt/format.h>
#if SIMGRID_VERSION >= 40000
#include <simgrid/s4u/ActivitySet.hpp>
#endif

#include "sim/cluster/simgrid/flow_zone.hpp"

namespace pipewright::goodput {
namespace {

// Hosts of a job in the zone, in this order.
enum End : unsigned long { at_job, at_peers, at_storage, ends };

}  // namespace

double Lines::pace(const Setting& setting) {
  constexpr double any = 1e9;  // far above the precision with which SimGrid shares bandwidth
  return shares(setting) ? setting.traffic : any;
}

std::vector<Lines> make_lines(const Setting& setting, std::size_t jobs) {
  auto lines = std::make_shared<std::vector<Lines>>(jobs);
  cluster::FlowZone& zone = cluster::make_zone(
      "goodput",
      [lines, training_shares = setting.traffic > 0](
          unsigned long source, unsigned long destination, std::vector<const sg4::Link*>& route) {
        const Lines& of = lines->at(source / ends);
        const bool trains = destination % ends == at_peers;
        route.push_back(trains                             ? of.training
                        : destination % ends == at_storage ? of.write
                                                           : of.read);
        if (of.network != nullptr && (!trains || training_shares)) route.push_back(of.network);
      });
  for (std::size_t i = 0; i < jobs; ++i) {
    Lines& of = (*lines)[i];
    const auto host = [&](const char* what) {
      return zone.add_host(fmt::format("{}-{}", what, i), 1e9, 1);
    };
    const auto link = [&](const char* what, double rate) {
      auto& zone_impl = static_cast<simgrid::kernel::routing::NetZoneImpl&>(zone);
      return cluster::add_link(zone_impl, fmt::format("{}-{}", what, i), rate)->seal();
    };
    of.job = host("job");
    of.peers = host("peers");
    of.storage = host("storage");
    of.training = link("training", Lines::pace(setting));
    of.write = link("write", setting.storage);
    of.read = link("read", setting.read);
    if (setting.network > 0) of.network = link("network", setting.network);
  }
  zone.seal();
  return *lines;
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
