#include <deque>
#include <exception>
#include <optional>
#include <string>

#include "schedules/deadlock.hpp"
#include "sim/cluster/simgrid.hpp"
#include "sim/execution/run.hpp"
#include "sim/execution/simgrid/device.hpp"
#include "sim/execution/simgrid/link_rows.hpp"

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

void simulate(const Job& job, trace::Sink& sink) {
  sg4::Engine& engine = cluster::engine();
  const double epoch = sg4::Engine::get_clock();
  const RankPlacement placement(job.cluster, job.hosts);
  const ReplicaGroups replica_groups(job);
  Wiring wiring(job, placement, replica_groups);
  std::optional<LinkBook> book;
  if (sink.wants_links()) book.emplace();
  const LinkAccount account{.book = book ? &*book : nullptr, .epoch = epoch};
  CollectiveRunner runner(wiring, account);
  Synchronizer others(job, replica_groups, epoch, runner);
  std::deque<Device> devices;
  std::deque<Network> networks;  // of each replica
  std::exception_ptr failure;

  for (std::uint32_t replica = 0; replica < job.simulated_replicas(); ++replica) {
    const Network& network = networks.emplace_back(job, wiring, replica, account);
    for (std::uint32_t index = 0; index < job.schedule.devices; ++index) {
      Device& device =
          devices.emplace_back(job, ReplicaDevice{replica, index}, epoch, others, sink);
      cluster::add_actor(job.host({replica, index}), "device-" + std::to_string(index),
                         [&device, &network, &failure] {
                           // An exception that left the actor would end the process. SimGrid's own,
                           // which kills an actor, is no std::exception and must pass.
                           try {
                             device.run(network);
                           } catch (const std::exception&) {
                             failure = std::current_exception();
                             sg4::Actor::kill_all();
                           }
                         });
    }
  }
  engine.run();
  if (failure) std::rethrow_exception(failure);

  // SimGrid returns from a deadlock as if all were well.
  std::vector<schedules::Blocked> blocked;  // of the first replica that is
  for (std::uint32_t index = 0; index < devices.size(); ++index) {
    if (index % job.schedule.devices == 0 && !blocked.empty()) break;
    if (const auto pass = devices[index].stands_at())
      blocked.push_back({index % job.schedule.devices, *pass});
  }
  if (!blocked.empty()) throw schedules::Deadlock(job.schedule, std::move(blocked));
  if (book) report_links(job, replica_groups, wiring, *book, sink);
}

}  // namespace pipewright::execution
