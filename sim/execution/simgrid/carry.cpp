#include "sim/execution/simgrid/carry.hpp"

#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "sim/execution/simgrid/mirror.hpp"

namespace pipewright::execution {
namespace {

// Limit of an actor's pending transfers, because SimGrid searches them one by one.
constexpr std::size_t max_pending_transfers = 64;

class Carrier;

// Actors that wait for their next transfer. SimGrid has one engine per process, so that there is
// one pool.
struct CarrierPool {
  std::vector<Carrier*> idle;
  int keepers = 0;
};
CarrierPool carrier_pool;

// Body of an actor that runs one piece of work after another, waiting in the pool in between.
class Carrier {
 public:
  Carrier() = default;
  ~Carrier() { std::erase(carrier_pool.idle, this); }  // also if the actor is killed while it waits
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  void give(std::function<void()> work) {
    work_ = std::move(work);
    wake_->release();
  }
  void live(const std::function<void()>& first) {
    first();
    while (carrier_pool.keepers > 0) {
      carrier_pool.idle.push_back(this);
      wake_->acquire();
      if (!work_) return;
      std::exchange(work_, nullptr)();
    }
  }

 private:
  std::function<void()> work_;
  sg4::SemaphorePtr wake_ = sg4::Semaphore::create(0);
};

void run_in_actor(sg4::Host* host, std::function<void()> work) {
  if (carrier_pool.idle.empty()) {
    cluster::add_actor(host, "collective", [work = std::move(work)] { Carrier().live(work); });
    return;
  }
  Carrier* const carrier = carrier_pool.idle.back();
  carrier_pool.idle.pop_back();
  carrier->give(std::move(work));
}

void carry(Mirror& mirror, std::span<const Transfer> transfers, const LinkAccount& account) {
  std::vector<sg4::CommPtr> flows;
  flows.reserve(transfers.size());
  for (const Transfer& transfer : transfers)
    flows.push_back(sg4::Comm::sendto_async(mirror.host(transfer.source),
                                            mirror.host(transfer.destination), transfer.bytes));
  for (std::size_t i = 0; i < flows.size(); ++i) {
    cluster::wait_for_end(flows[i]);
    account.add(transfers[i], flows[i]->get_start_time(), flows[i]->get_finish_time());
  }
}

void carry_out_step(Mirror& mirror, const TransferPlan::Step& step, sg4::Host* host,
                    const LinkAccount& account) {
  std::span<const Transfer> rest(step.transfers);
  const sg4::SemaphorePtr ended = sg4::Semaphore::create(0);
  int helpers = 0;
  for (; rest.size() > max_pending_transfers; rest = rest.subspan(max_pending_transfers), ++helpers)
    run_in_actor(host, [&mirror, part = rest.first(max_pending_transfers), ended, account] {
      carry(mirror, part, account);
      ended->release();
    });
  carry(mirror, rest, account);
  for (; helpers > 0; --helpers) ended->acquire();
  if (step.latency > 0) sg4::this_actor::sleep_for(step.latency);
}

}  // namespace

CarrierReuse::CarrierReuse() { ++carrier_pool.keepers; }

CarrierReuse::~CarrierReuse() {
  const bool is_killed = std::uncaught_exceptions() > 0;  // all actors are killed in that case
  if (--carrier_pool.keepers > 0 || is_killed) return;
  for (Carrier* const carrier : std::exchange(carrier_pool.idle, {})) carrier->give(nullptr);
}

void carry_out(const TransferPlan& transfer_plan, const LinkAccount& account) {
  Mirror& mirror = mirror_of(*transfer_plan.cluster);
  for (const TransferPlan::Step& step : transfer_plan.steps)
    carry_out_step(mirror, step, mirror.host(transfer_plan.host), account);
}

void start(std::shared_ptr<const TransferPlan> transfer_plan, std::function<void()> done,
           const LinkAccount& account) {
  sg4::Host* const host = mirror_of(*transfer_plan->cluster).host(transfer_plan->host);
  run_in_actor(host, [transfer_plan = std::move(transfer_plan), done = std::move(done), account] {
    carry_out(*transfer_plan, account);
    done();
  });
}

}  // namespace pipewright::execution
