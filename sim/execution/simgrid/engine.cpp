#include "sim/cluster/simgrid/engine.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "schedules/deadlock.hpp"
#include "sim/execution/run.hpp"
#include "sim/execution/simgrid/carry.hpp"
#include "sim/execution/simgrid/device.hpp"
#include "sim/execution/simgrid/link_rows.hpp"
#include "sim/execution/simgrid/mirror.hpp"
#include "sim/execution/together.hpp"

namespace pipewright::execution {
namespace {

// What a job has of its own in a simulation. First its flows are wired, then it gets its devices.
struct Running {
  Running(const Job& given, double start, trace::Sink& rows)
      : job(given),
        epoch(start),
        sink(rows),
        placement(given.cluster, given.hosts),
        replica_groups(given) {
    if (sink.wants_links()) book.emplace(job.cluster);
  }
  Running(const Running&) = delete;  // its parts refer to each other
  Running& operator=(const Running&) = delete;

  LinkAccount account() {
    return {.book = book ? &*book : nullptr, .epoch = epoch, .others = &others};
  }
  void start_devices(const Mirror& mirror, std::exception_ptr& failure, IterationCount* iterations);
  // SimGrid returns from a deadlock as if all were well.
  void check_deadlock() const;

  const Job& job;
  const double epoch;
  trace::Sink& sink;
  RankPlacement placement;
  ReplicaGroups replica_groups;
  std::optional<Wiring> wiring;
  std::optional<LinkBook> book;
  std::vector<LinkAccount::Other> others;
  std::optional<CollectiveRunner> runner;
  std::optional<Synchronizer> synchronizer;
  std::deque<Device> devices;
  std::deque<Network> networks;  // of each replica
};

void Running::start_devices(const Mirror& mirror, std::exception_ptr& failure,
                            IterationCount* iterations) {
  runner.emplace(*wiring, account());
  synchronizer.emplace(job, replica_groups, epoch, *runner);
  for (std::uint32_t replica = 0; replica < job.simulated_replicas(); ++replica) {
    const Network& network = networks.emplace_back(job, *wiring, replica, account());
    for (std::uint32_t index = 0; index < job.schedule.devices; ++index) {
      Device& device = devices.emplace_back(job, ReplicaDevice{replica, index}, epoch,
                                            *synchronizer, sink, iterations);
      cluster::add_actor(mirror.host(job.host({replica, index})), "device-" + std::to_string(index),
                         [&device, &network, &failure] {
                           // An exception that left the actor would end the process. SimGrid's own,
                           // which kills an actor, is no std::exception and must pass.
                           try {
                             const KeptCarriers kept;
                             device.run(network);
                           } catch (const std::exception&) {
                             failure = std::current_exception();
                             sg4::Actor::kill_all();
                           }
                         });
    }
  }
}

void Running::check_deadlock() const {
  std::vector<schedules::Blocked> blocked;  // of the first replica that is
  for (std::uint32_t index = 0; index < devices.size(); ++index) {
    if (index % job.schedule.devices == 0 && !blocked.empty()) break;
    if (const auto pass = devices[index].stands_at())
      blocked.push_back({index % job.schedule.devices, *pass});
  }
  if (!blocked.empty()) throw schedules::Deadlock(job.schedule, std::move(blocked));
}

// The links that two of the jobs or more have used in the piece of time, which is seconds since the
// start of all.
std::vector<SharedLink> shared_links(std::deque<Running>& jobs, double from, double to) {
  std::map<const cluster::Link*, SharedLink> links;
  double start = 0;
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    Running& one = jobs[number];
    if (!one.book) continue;
    start = number == 0 ? one.epoch : start;
    for (std::size_t link = 0; link < one.book->size(); ++link) {
      if (!one.book->is_own(link)) continue;
      const TimeBins::Cell sum =
          one.book->sum(link, from - (one.epoch - start), to - (one.epoch - start));
      SharedLink& shared = links[one.book->link(link)];
      shared.bandwidth = one.book->bandwidth(link);
      shared.alike = one.wiring->represents(one.book->link(link));
      shared.bytes.resize(jobs.size());
      shared.waited.resize(jobs.size());
      shared.bytes[number] = sum.bytes;
      shared.waited[number] = sum.waited;
    }
  }
  std::vector<SharedLink> several;
  for (auto& [link, shared] : links) {
    if (std::ranges::count_if(shared.bytes, [](double bytes) { return bytes > 0; }) < 2) continue;
    shared.name = cluster::Cluster::link_name(link);
    shared.link_class = jobs.front().job.cluster.link_class(link);
    several.push_back(std::move(shared));
  }
  const auto use = [](const SharedLink& link) {
    return std::accumulate(link.bytes.begin(), link.bytes.end(), 0.0) / link.bandwidth;
  };
  std::ranges::sort(several, [&](const SharedLink& a, const SharedLink& b) {
    constexpr double same = 1e-9;
    const double difference = use(a) - use(b);
    return std::abs(difference) > same * use(a) ? difference > 0 : a.name < b.name;
  });
  return several;
}

}  // namespace

void simulate(const Job& job, trace::Sink& sink) {
  sg4::Engine& engine = cluster::engine();
  Running running(job, sg4::Engine::get_clock(), sink);
  running.wiring.emplace(job, running.placement, running.replica_groups);
  std::exception_ptr failure;
  running.start_devices(begin_mirror(job.cluster), failure, nullptr);
  engine.run();
  if (failure) std::rethrow_exception(failure);
  running.check_deadlock();
  if (running.book) report_links(job, running.replica_groups, *running.wiring, *running.book, sink);
}

Together run_together(std::span<const JobStart> jobs, std::uint32_t enough) {
  sg4::Engine& engine = cluster::engine();
  const double epoch = sg4::Engine::get_clock();
  std::deque<Running> all;
  std::vector<Wiring*> wirings;
  std::vector<CommonWindow::Member> members;
  for (const JobStart& start : jobs) {
    Running& one = all.emplace_back(start.job, epoch + start.offset, start.sink);
    one.wiring.emplace(start.job, one.placement, one.replica_groups, Wiring::OfSeveral{});
    wirings.push_back(&*one.wiring);
    members.push_back({start.offset, start.job.simulated_replicas() * start.job.schedule.devices});
  }
  for (Running& one : all)
    for (Running& other : all)
      if (&one != &other && other.book) one.others.push_back({&*other.book, other.epoch});
  Wiring::fold_together(wirings);
  CommonWindow window(members, enough);
  std::deque<IterationCount> counts;
  const Mirror& mirror = begin_mirror(jobs.front().job.cluster);
  std::exception_ptr failure;
  for (std::size_t number = 0; number < all.size(); ++number) {
    begin_rows(jobs[number].job, EngineKind::simgrid, jobs[number].info, jobs[number].sink);
    all[number].start_devices(mirror, failure, &counts.emplace_back(window, number));
  }
  engine.run();
  if (failure) std::rethrow_exception(failure);
  for (const Running& one : all) one.check_deadlock();

  Together together;
  double from = 0;
  double to = std::numeric_limits<double>::infinity();
  for (std::size_t number = 0; number < all.size(); ++number) {
    Running& one = all[number];
    together.jobs.push_back({window.ends(number), window.first(number)});
    if (one.book) report_links(one.job, one.replica_groups, *one.wiring, *one.book, one.sink);
    one.sink.finish();
    from = std::max(from, members[number].offset + window.ends(number).front());
    to = std::min(to, members[number].offset + window.ends(number).back());
  }
  together.window = std::max(0.0, to - from);
  together.links = shared_links(all, from, to);
  return together;
}

LinksOfJob links_of(const Job& job) {
  Job others = job;
  others.conditions.communication.detail = config::Detail::fast;
  const RankPlacement placement(job.cluster, job.hosts);
  const ReplicaGroups replica_groups(others);
  return Wiring(others, placement, replica_groups, Wiring::OfSeveral{}).links(replica_groups);
}

}  // namespace pipewright::execution
