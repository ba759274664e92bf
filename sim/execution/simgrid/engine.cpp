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

// State of one job in a simulation. Its flows are planned first, then its devices are created.
struct RunningJob {
  using FindKinds = ReplicaKinds (*)(const Job&, const RankPlacement&, FoldedLinks);
  RunningJob(const Job& run_job, double run_start, trace::Sink& row_sink, FindKinds find_kinds)
      : job(run_job),
        epoch(run_start),
        sink(row_sink),
        placement(run_job.cluster, run_job.hosts),
        links(row_sink.needs_links() ? FoldedLinks::shared : FoldedLinks::limiting),
        kinds(find_kinds(run_job, placement, links)),
        replica_groups(run_job, kinds.simulated) {
    if (sink.needs_links()) book.emplace(job.cluster);
  }
  RunningJob(const RunningJob&) = delete;  // its parts refer to each other
  RunningJob& operator=(const RunningJob&) = delete;

  LinkAccount account() {
    return {.book = book ? &*book : nullptr, .epoch = epoch, .other_jobs = &other_jobs};
  }
  std::size_t devices_to_simulate() const { return kinds.simulated.size() * job.schedule.devices; }
  void start_devices(Mirror& mirror, std::exception_ptr& failure, IterationCount* iterations);
  // Throws schedules::Deadlock if devices are still blocked: SimGrid itself returns from a deadlock
  // as if the simulation were complete.
  void check_deadlock() const;

  const Job& job;
  const double epoch;
  trace::Sink& sink;
  RankPlacement placement;
  FoldedLinks links;  // reports of the use of links need all of them
  ReplicaKinds kinds;
  ReplicaGroups replica_groups;
  std::optional<Wiring> wiring;
  std::optional<LinkBook> book;
  std::vector<LinkAccount::OtherJob> other_jobs;
  std::optional<CollectiveRunner> runner;
  std::optional<Synchronizer> synchronizer;
  std::deque<Device> devices;
  std::deque<Network> networks;  // by replica
};

void RunningJob::start_devices(Mirror& mirror, std::exception_ptr& failure,
                               IterationCount* iterations) {
  runner.emplace(*wiring, account());
  synchronizer.emplace(job, replica_groups, epoch, *runner);
  for (const std::uint32_t replica : kinds.simulated) {
    const Network& network = networks.emplace_back(job, *wiring, replica, account());
    for (std::uint32_t index = 0; index < job.schedule.devices; ++index) {
      Device& device = devices.emplace_back(job, ReplicaDevice{replica, index}, epoch,
                                            *synchronizer, sink, iterations);
      cluster::add_actor(mirror.host(job.host({replica, index})), "device-" + std::to_string(index),
                         [&device, &network, &failure] {
                           // An exception that leaves the actor would end the process. The
                           // exception by which SimGrid kills an actor is not a std::exception and
                           // must pass.
                           try {
                             const CarrierReuse reuse;
                             device.run(network);
                           } catch (const std::exception&) {
                             failure = std::current_exception();
                             sg4::Actor::kill_all();
                           }
                         });
    }
  }
}

void RunningJob::check_deadlock() const {
  std::vector<schedules::Blocked> blocked;  // devices of the first blocked replica
  for (std::uint32_t index = 0; index < devices.size(); ++index) {
    if (index % job.schedule.devices == 0 && !blocked.empty()) break;
    if (const auto pass = devices[index].current_pass())
      blocked.push_back({index % job.schedule.devices, *pass});
  }
  if (!blocked.empty()) throw schedules::Deadlock(job.schedule, std::move(blocked));
}

// Kinds of replicas of a job that runs alone. A job is simulated by kinds whose replicas are alike
// at all times if it is large, or if it has no more of them than kinds by messages alone.
ReplicaKinds kinds_to_simulate(const Job& job, const RankPlacement& placement, FoldedLinks links) {
  ReplicaKinds kinds = find_replica_kinds(job, placement);
  const bool may_reduce =
      job.symmetric || std::size_t{job.replicas()} * job.schedule.devices >= job.reduce_from;
  if (job.replicas() == 1 || !may_reduce || job.cluster.is_ideal() || job.passes_vary() ||
      job.uneven)
    return kinds;
  const std::size_t most = job.symmetric ? kinds.simulated.size() : job.replicas() / 2;
  if (auto alike = Wiring::find_alike(job, placement, most, links)) return *std::move(alike);
  return kinds;
}

ReplicaKinds kinds_by_messages(const Job& job, const RankPlacement& placement,
                               FoldedLinks /*links*/) {
  return find_replica_kinds(job, placement);
}

// Links that at least two jobs used between two times, in seconds since the start of the first job;
// busiest first.
std::vector<SharedLink> find_shared_links(std::deque<RunningJob>& jobs, double from, double to) {
  std::map<const cluster::Link*, SharedLink> links;
  double start = 0;
  for (std::size_t number = 0; number < jobs.size(); ++number) {
    RunningJob& job = jobs[number];
    if (!job.book) continue;
    start = number == 0 ? job.epoch : start;
    for (std::size_t link = 0; link < job.book->size(); ++link) {
      if (!job.book->is_own(link)) continue;
      const TimeBins::Cell sum =
          job.book->sum(link, from - (job.epoch - start), to - (job.epoch - start));
      SharedLink& shared = links[job.book->link(link)];
      shared.bandwidth = job.book->bandwidth(link);
      shared.alike = job.wiring->represents(job.book->link(link));
      shared.bytes.resize(jobs.size());
      shared.waited.resize(jobs.size());
      shared.bytes[number] = sum.bytes;
      shared.waited[number] = sum.waited;
    }
  }
  std::vector<SharedLink> shared_links;
  for (auto& [link, shared] : links) {
    if (std::ranges::count_if(shared.bytes, [](double bytes) { return bytes > 0; }) < 2) continue;
    shared.name = cluster::Cluster::link_name(link);
    shared.link_class = jobs.front().job.cluster.link_class(link);
    shared_links.push_back(std::move(shared));
  }
  const auto use = [](const SharedLink& link) {
    return std::accumulate(link.bytes.begin(), link.bytes.end(), 0.0) / link.bandwidth;
  };
  std::ranges::sort(shared_links, [&](const SharedLink& a, const SharedLink& b) {
    constexpr double tie_tolerance = 1e-9;
    const double difference = use(a) - use(b);
    return std::abs(difference) > tie_tolerance * use(a) ? difference > 0 : a.name < b.name;
  });
  return shared_links;
}

Reduction::Likeness likeness_of(const Job& job, const ReplicaKinds& kinds) {
  if (kinds.are_alike || kinds.simulated.size() == job.replicas())
    return Reduction::Likeness::place;
  return job.passes_vary() ? Reduction::Likeness::messages_but_not_work
                           : Reduction::Likeness::messages;
}

}  // namespace

Reduction simulate(const Job& job, trace::Sink& sink) {
  sg4::Engine& engine = cluster::engine();
  RunningJob running_job(job, sg4::Engine::get_clock(), sink, kinds_to_simulate);
  running_job.wiring.emplace(job, running_job.placement, running_job.kinds,
                             running_job.replica_groups, running_job.links);
  std::exception_ptr failure;
  Mirror& mirror = begin_mirror(job.cluster);
  const bool plans_everything = job.ranks_per_stage() > 1 && !job.uneven;
  if (plans_everything) mirror.prepare(running_job.wiring->close(), running_job.links);
  running_job.start_devices(mirror, failure, nullptr);
  engine.run();
  if (failure) std::rethrow_exception(failure);
  running_job.check_deadlock();
  running_job.synchronizer->report_waits(sink);
  if (running_job.book)
    report_links(job, running_job.replica_groups, *running_job.wiring, *running_job.book, sink);
  return {.replicas = job.replicas(),
          .simulated = static_cast<std::uint32_t>(running_job.kinds.simulated.size()),
          .likeness = likeness_of(job, running_job.kinds)};
}

JointResult run_together(std::span<const JobStart> jobs, std::uint32_t enough) {
  sg4::Engine& engine = cluster::engine();
  const double epoch = sg4::Engine::get_clock();
  std::deque<RunningJob> running_jobs;
  std::vector<Wiring*> wirings;
  std::vector<CommonWindow::Member> members;
  for (const JobStart& start : jobs) {
    RunningJob& job =
        running_jobs.emplace_back(start.job, epoch + start.offset, start.sink, kinds_by_messages);
    job.wiring.emplace(start.job, job.placement, job.kinds, job.replica_groups, Wiring::JointRun{});
    wirings.push_back(&*job.wiring);
    members.push_back({start.offset, static_cast<std::uint32_t>(job.devices_to_simulate())});
  }
  for (RunningJob& job : running_jobs)
    for (RunningJob& peer : running_jobs)
      if (&job != &peer && peer.book) job.other_jobs.push_back({&*peer.book, peer.epoch});
  Wiring::fold_together(wirings);
  CommonWindow window(members, enough);
  std::deque<IterationCount> counts;
  Mirror& mirror = begin_mirror(jobs.front().job.cluster);
  std::exception_ptr failure;
  for (std::size_t number = 0; number < running_jobs.size(); ++number) {
    begin_rows(jobs[number].job, EngineKind::simgrid, jobs[number].info, jobs[number].sink);
    running_jobs[number].start_devices(mirror, failure, &counts.emplace_back(window, number));
  }
  engine.run();
  if (failure) std::rethrow_exception(failure);
  for (const RunningJob& job : running_jobs) job.check_deadlock();

  JointResult result;
  double from = 0;
  double to = std::numeric_limits<double>::infinity();
  for (std::size_t number = 0; number < running_jobs.size(); ++number) {
    RunningJob& job = running_jobs[number];
    result.jobs.push_back({window.ends(number), window.first(number)});
    job.synchronizer->report_waits(job.sink);
    if (job.book) report_links(job.job, job.replica_groups, *job.wiring, *job.book, job.sink);
    job.sink.finish();
    from = std::max(from, members[number].offset + window.ends(number).front());
    to = std::min(to, members[number].offset + window.ends(number).back());
  }
  result.window = std::max(0.0, to - from);
  result.links = find_shared_links(running_jobs, from, to);
  return result;
}

LinksOfJob links_of(const Job& job) {
  Job fast_job = job;
  fast_job.conditions.communication.detail = config::Detail::fast;
  const RankPlacement placement(job.cluster, job.hosts);
  const ReplicaKinds kinds = find_replica_kinds(fast_job, placement);
  const ReplicaGroups replica_groups(fast_job, kinds.simulated);
  return Wiring(fast_job, placement, kinds, replica_groups, Wiring::JointRun{})
      .links(replica_groups);
}

}  // namespace pipewright::execution
