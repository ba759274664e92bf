#include "sim/execution/collectives/course.hpp"

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

void carry_out_step(const Course::Step& step, sg4::Host* host, const LinkAccount& account) {
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

std::shared_ptr<const Course> make_course(std::span<const Phase> phases, const Places& places) {
  Course course{.host = places.host(0)};
  for (const Phase& phase : phases) {
    Course::Step& step = course.steps.emplace_back();
    step.latency = phase.latency;
    for (const Flow& flow : phase.flows) {
      const auto bytes = static_cast<std::uint64_t>(std::llround(flow.bytes));
      const cluster::Route route = places.route(flow.source, flow.destination);
      if (bytes == 0 || std::isinf(route.bandwidth)) continue;
      step.transfers.push_back({route.source, route.destination, bytes});
    }
    if (!step.transfers.empty()) course.host = step.transfers.front().source;
  }
  return std::make_shared<const Course>(std::move(course));
}

void carry_out(const Course& course, const LinkAccount& account) {
  for (const Course::Step& step : course.steps) carry_out_step(step, course.host, account);
}

void start(std::shared_ptr<const Course> course, std::function<void()> done,
           const LinkAccount& account) {
  sg4::Host* const host = course->host;
  cluster::add_actor(host, "collective",
                     [course = std::move(course), done = std::move(done), account] {
                       carry_out(*course, account);
                       done();
                     });
}

}  // namespace pipewright::execution
