#include "sim/execution/flows/transfer_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cluster/simgrid.hpp"

namespace pipewright::execution {
namespace {

namespace sg4 = cluster::sg4;

// SimGrid looks through an actor's pending transfers one by one, so that no actor has many.
constexpr std::size_t most_pending = 64;

void carry(std::span<const Transfer> transfers, const LinkAccount& account) {
  std::vector<sg4::CommPtr> flows;
  flows.reserve(transfers.size());
  for (const Transfer& transfer : transfers)
    flows.push_back(sg4::Comm::sendto_async(transfer.source, transfer.destination, transfer.bytes));
  for (std::size_t i = 0; i < flows.size(); ++i) {
    flows[i]->wait();
    account.add(transfers[i], flows[i]->get_start_time(), flows[i]->get_finish_time());
  }
}

void carry_out_step(const TransferPlan::Step& step, sg4::Host* host, const LinkAccount& account) {
  std::span<const Transfer> rest(step.transfers);
  const sg4::SemaphorePtr ended = sg4::Semaphore::create(0);
  int helpers = 0;
  for (; rest.size() > most_pending; rest = rest.subspan(most_pending), ++helpers)
    cluster::add_actor(host, "collective", [part = rest.first(most_pending), ended, account] {
      carry(part, account);
      ended->release();
    });
  carry(rest, account);
  for (; helpers > 0; --helpers) ended->acquire();
  if (step.latency > 0) sg4::this_actor::sleep_for(step.latency);
}

}  // namespace

std::shared_ptr<const TransferPlan> make_transfer_plan(std::span<const Phase> phases,
                                                       const RankPlacement& placement) {
  TransferPlan transfer_plan{.host = placement.host(0)};
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

void carry_out(const TransferPlan& transfer_plan, const LinkAccount& account) {
  for (const TransferPlan::Step& step : transfer_plan.steps)
    carry_out_step(step, transfer_plan.host, account);
}

void start(std::shared_ptr<const TransferPlan> transfer_plan, std::function<void()> done,
           const LinkAccount& account) {
  sg4::Host* const host = transfer_plan->host;
  cluster::add_actor(host, "collective",
                     [transfer_plan = std::move(transfer_plan), done = std::move(done), account] {
                       carry_out(*transfer_plan, account);
                       done();
                     });
}

}  // namespace pipewright::execution
