#include "sim/execution/flows/transfer_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipewright::execution {

std::shared_ptr<const TransferPlan> make_transfer_plan(std::span<const Phase> phases,
                                                       const RankPlacement& placement) {
  TransferPlan transfer_plan{.cluster = &placement.cluster(), .host = placement.host(0)};
  for (const Phase& phase : phases) {
    TransferPlan::Step& step = transfer_plan.steps.emplace_back();
    step.latency = phase.latency;
    for (const Flow& flow : phase.flows) {
      const auto bytes = static_cast<std::uint64_t>(std::llround(flow.bytes));
      const cluster::Route route = placement.route(flow.source, flow.destination);
      if (bytes == 0 || std::isinf(route.bandwidth)) continue;
      step.transfers.push_back({route.source, route.destination, bytes});
    }
    if (!step.transfers.empty()) transfer_plan.host = step.transfers.front().source;
  }
  return std::make_shared<const TransferPlan>(std::move(transfer_plan));
}

}  // namespace pipewright::execution
