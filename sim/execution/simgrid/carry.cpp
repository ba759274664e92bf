#include "sim/execution/simgrid/carry.hpp"

#include <span>
#include <utility>
#include <vector>

#include "sim/execution/simgrid/mirror.hpp"

namespace pipewright::execution {
namespace {

// SimGrid looks through an actor's pending transfers one by one, so that no actor has many.
constexpr std::size_t most_pending = 64;

void carry(Mirror& mirror, std::span<const Transfer> transfers, const LinkAccount& account) {
  std::vector<sg4::CommPtr> flows;
  flows.reserve(transfers.size());
  for (const Transfer& transfer : transfers)
    flows.push_back(sg4::Comm::sendto_async(mirror.host(transfer.source),
                                            mirror.host(transfer.destination), transfer.bytes));
  for (std::size_t i = 0; i < flows.size(); ++i) {
    flows[i]->wait();
    account.add(transfers[i], flows[i]->get_start_time(), flows[i]->get_finish_time());
  }
}

void carry_out_step(Mirror& mirror, const TransferPlan::Step& step, sg4::Host* host,
                    const LinkAccount& account) {
  std::span<const Transfer> rest(step.transfers);
  const sg4::SemaphorePtr ended = sg4::Semaphore::create(0);
  int helpers = 0;
  for (; rest.size() > most_pending; rest = rest.subspan(most_pending), ++helpers)
    cluster::add_actor(host, "collective",
                       [&mirror, part = rest.first(most_pending), ended, account] {
                         carry(mirror, part, account);
                         ended->release();
                       });
  carry(mirror, rest, account);
  for (; helpers > 0; --helpers) ended->acquire();
  if (step.latency > 0) sg4::this_actor::sleep_for(step.latency);
}

}  // namespace

void carry_out(const TransferPlan& transfer_plan, const LinkAccount& account) {
  Mirror& mirror = mirror_of(*transfer_plan.cluster);
  for (const TransferPlan::Step& step : transfer_plan.steps)
    carry_out_step(mirror, step, mirror.host(transfer_plan.host), account);
}

void start(std::shared_ptr<const TransferPlan> transfer_plan, std::function<void()> done,
           const LinkAccount& account) {
  sg4::Host* const host = mirror_of(*transfer_plan->cluster).host(transfer_plan->host);
  cluster::add_actor(host, "collective",
                     [transfer_plan = std::move(transfer_plan), done = std::move(done), account] {
                       carry_out(*transfer_plan, account);
                       done();
                     });
}

}  // namespace pipewright::execution
