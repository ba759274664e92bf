#include "sim/comm/alpha_beta.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/comm/collective_of.hpp"
#include "sim/execution/collectives/ways.hpp"

namespace pipewright::comm {
namespace {

using execution::ByProtocol;
using execution::Draft;

// Seconds of the GPU that has the most to send or to receive over one of its links, for each byte
// of the operation.
ByProtocol busiest_gpu(const Draft& draft, const execution::Places& places) {
  std::map<std::pair<std::uint32_t, const cluster::Link*>, ByProtocol> seconds_of;
  for (const execution::Flow& flow : draft.flows) {
    const cluster::Route route = places.route(flow.source, flow.destination);
    if (route.links.empty()) continue;
    for (std::size_t p = 0; p < route.by.size(); ++p) {
      const double efficiency = draft.is_raw ? 1 : route.by[p].efficiency;
      const double seconds = flow.bytes / efficiency / route.bandwidth;
      seconds_of[{flow.source, route.links.front()}][p] += seconds;
      seconds_of[{flow.destination, route.links.back()}][p] += seconds;
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
  const workload::Collective kind = collective_of(setting.operation);
  const std::vector<std::uint32_t>& group = setting.groups.front();
  const execution::Choice choice =
      execution::choose(kind, size, group, setting.algorithm, setting.places);
  double seconds = 0;
  const std::vector<execution::Way> ways =
      execution::ways(kind, group, choice.algorithm, setting.places);
  for (const Draft& draft : ways.front().phases) {
    const ByProtocol transfer = busiest_gpu(draft, setting.places);
    seconds += transfer[static_cast<std::size_t>(choice.protocol)] * size +
               overhead(draft, transfer, choice.protocol, size);
  }
  return seconds;
}

}  // namespace pipewright::comm
