#include "sim/comm/alpha_beta.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "sim/comm/collective_of.hpp"
#include "sim/execution/collectives/ways.hpp"

namespace pipewright::comm {
namespace {

using execution::ByProtocol;
using execution::Draft;

// Seconds of the GPU that has the most to send or to receive, inside its node or out of it, for
// each byte of the operation.
ByProtocol busiest_gpu(const Draft& draft, const execution::Places& places) {
  enum class Side : std::uint8_t { sends, receives };
  std::map<std::tuple<std::uint32_t, Side, bool>, ByProtocol> seconds_of;
  for (const execution::Flow& flow : draft.flows) {
    const cluster::Route route = places.route(flow.source, flow.destination);
    const bool leaves = places.node(flow.source) != places.node(flow.destination);
    for (std::size_t p = 0; p < route.by.size(); ++p) {
      const double efficiency = draft.is_raw ? 1 : route.by[p].efficiency;
      const double seconds = flow.bytes / efficiency / route.bandwidth;
      seconds_of[{flow.source, Side::sends, leaves}][p] += seconds;
      seconds_of[{flow.destination, Side::receives, leaves}][p] += seconds;
    }
  }
  ByProtocol most{};
  for (const auto& [who, seconds] : seconds_of)
    for (std::size_t p = 0; p < most.size(); ++p) most[p] = std::max(most[p], seconds[p]);
  return most;
}

}  // namespace

double alpha_beta(const Setting& setting, std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  double least = std::numeric_limits<double>::infinity();
  for (const execution::Way& way :
       execution::ways(collective_of(setting.operation), setting.groups.front(), setting.algorithm,
                       setting.places)) {
    std::vector<ByProtocol> transfers;
    for (const Draft& draft : way.phases) transfers.push_back(busiest_gpu(draft, setting.places));
    for (const execution::Protocol protocol : way.protocols) {
      double seconds = 0;
      for (std::size_t i = 0; i < transfers.size(); ++i)
        seconds += transfers[i][static_cast<std::size_t>(protocol)] * size +
                   overhead(way.phases[i], transfers[i], protocol, size);
      least = std::min(least, seconds);
    }
  }
  return least;
}

}  // namespace pipewright::comm
