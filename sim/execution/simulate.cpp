#include <exception>
#include <string>

#include "schedules/deadlock.hpp"
#include "sim/cluster/engine.hpp"
#include "sim/execution/device.hpp"
#include "sim/execution/run.hpp"

namespace pipewright::execution {

namespace sg4 = cluster::sg4;

void simulate(const Job& job, trace::Sink& sink) {
  sg4::Engine& engine = cluster::engine();
  const double epoch = sg4::Engine::get_clock();
  std::vector<Device> devices;
  devices.reserve(job.schedule.devices);
  std::vector<sg4::ActorPtr> actors;
  const Network* network = nullptr;
  std::exception_ptr failure;

  for (std::uint32_t index = 0; index < job.schedule.devices; ++index) {
    Device& device = devices.emplace_back(job, index, epoch, sink);
    actors.push_back(cluster::add_actor(job.hosts[index], "device-" + std::to_string(index),
                                        [&device, &network, &failure] {
                                          // An exception that left the actor would end the process.
                                          // SimGrid's own, which kills an actor, is no
                                          // std::exception and must pass.
                                          try {
                                            device.run(*network);
                                          } catch (const std::exception&) {
                                            failure = std::current_exception();
                                            sg4::Actor::kill_all();
                                          }
                                        }));
  }
  const Network made(job, actors);  // the actors start in run()
  network = &made;
  engine.run();
  if (failure) std::rethrow_exception(failure);

  // SimGrid returns from a deadlock as if all were well.
  std::vector<schedules::Blocked> blocked;
  for (std::uint32_t index = 0; index < devices.size(); ++index)
    if (const auto pass = devices[index].stands_at()) blocked.push_back({index, *pass});
  if (!blocked.empty()) throw schedules::Deadlock(job.schedule, std::move(blocked));
}

}  // namespace pipewright::execution
