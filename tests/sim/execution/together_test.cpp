#include "sim/execution/together.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "analysis/trace/sink.hpp"
#include "schedules/deadlock.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/execution/random_jobs.hpp"

// Jobs that run at once. Answers are worked out on paper where no comment says otherwise.

using namespace pipewright;
using execution::JobStart;
using execution::JointResult;

namespace {

// Leaves of GPUs, each of which reaches its leaf's switch over 1 GB/s of its own each way; a leaf's
// GPUs share 1 GB/s each way to the others. No latency.
cluster::Cluster tree(std::uint32_t leaves, std::uint32_t gpus) {
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='tree' routing='Full'>\n";
  const std::uint32_t all = leaves * gpus;
  const auto link = [](const std::string& name) {
    return fmt::format(
        "<link id='{}' bandwidth='1GBps' latency='0s' sharing_policy='SPLITDUPLEX'/>\n", name);
  };
  for (std::uint32_t a = 0; a < all; ++a) text += fmt::format("<host id='gpu-{}' speed='1Gf'/>", a);
  for (std::uint32_t a = 0; a < all; ++a) text += link(fmt::format("own-{}", a));
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) text += link(fmt::format("trunk-{}", leaf));
  for (std::uint32_t a = 0; a < all; ++a)
    for (std::uint32_t b = 0; b < all; ++b) {
      if (a == b) continue;
      text += fmt::format(
          "<route src='gpu-{0}' dst='gpu-{1}' symmetrical='NO'>"
          "<link_ctn id='own-{0}' direction='UP'/>",
          a, b);
      if (a / gpus != b / gpus)
        text += fmt::format(
            "<link_ctn id='trunk-{}' direction='UP'/><link_ctn id='trunk-{}' direction='DOWN'/>",
            a / gpus, b / gpus);
      text += fmt::format("<link_ctn id='own-{}' direction='DOWN'/></route>\n", b);
    }
  const config::test::Folder folder;
  return cluster::Cluster::load(folder.write("tree.xml", text + "</zone></platform>\n"));
}

// Two replicas of one device on these hosts: an iteration computes for 3 s, and then reduces
// gradients for `seconds` over a network of 1 GB/s, which a ring of two sends once each way.
std::unique_ptr<tests::HybridJob> reducing_job(const std::vector<std::string>& hosts,
                                               double seconds) {
  auto job = std::make_unique<tests::HybridJob>(
      schedules::make_schedule("1f1b", {.devices = 1, .microbatches = 1, .iterations = 40}),
      tests::Layout{.dp = 2});
  job->communication().overlap_grad_reduce = false;
  job->communication().global_norm = false;
  job->communication().gradient_bytes = 4;
  job->set_parameters(static_cast<std::uint64_t>(seconds * 1e9 / 4));
  job->placement = hosts;
  return job;
}

struct Outcome {
  JointResult together;
  std::vector<trace::Trace> traces;
};

Outcome run(const std::vector<tests::HybridJob*>& jobs, const cluster::Cluster& cluster,
            const std::vector<double>& offsets, std::uint32_t enough = 4) {
  std::vector<execution::Job> made;
  for (const tests::HybridJob* job : jobs) made.push_back(job->job(cluster));
  std::vector<trace::TraceCollector> rows(jobs.size());
  std::vector<JobStart> starts;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    starts.push_back({.job = made[i], .offset = offsets[i], .sink = rows[i], .info = {}});
  Outcome outcome{execution::run_together(starts, enough), {}};
  for (trace::TraceCollector& one : rows) outcome.traces.push_back(std::move(one.trace));
  return outcome;
}

// The mean over the common window.
double iteration(const JointResult::Times& job) {
  const std::size_t last = job.ends.size() - 1;
  return (job.ends[last] - job.ends[job.first]) / static_cast<double>(last - job.first);
}

std::map<std::string, double> bytes_of(const trace::Trace& trace) {
  std::map<std::string, double> bytes;
  for (const trace::LinkUseRow& row : trace.link_use)
    bytes[trace.links[row.link].name] += static_cast<double>(row.bytes);
  return bytes;
}

// Of all links, those that others stand for as well.
double sum_of_bytes(const trace::Trace& trace) {
  double bytes = 0;
  for (const trace::LinkUseRow& row : trace.link_use)
    bytes += static_cast<double>(row.bytes) * trace.links[row.link].alike;
  return bytes;
}

}  // namespace

// Both compute for C and send for M alone. Started d apart, d up to M, the two have the trunk to
// themselves for d each and share it for the rest: 2M - d for either's M, again and again.
TEST_CASE("jobs on one link take the sum while both send and nothing out of phase", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto one = reducing_job({"gpu-0", "gpu-2"}, 2);
  const auto other = reducing_job({"gpu-1", "gpu-3"}, 2);
  const auto [offset, seconds] = GENERATE(table<double, double>(
      {{0, 7}, {0.5, 6.5}, {1, 6}, {1.5, 5.5}, {2, 5}, {2.5, 5}, {3, 5}, {4, 6}, {4.5, 6.5}}));
  const Outcome outcome = run({one.get(), other.get()}, cluster, {0, offset});
  CAPTURE(offset);
  for (const JointResult::Times& job : outcome.together.jobs)
    CHECK(iteration(job) == Approx(seconds).epsilon(1e-8));  // buckets are whole bytes
}

TEST_CASE("a link is shared among as many jobs as there are", "[together]") {
  const cluster::Cluster cluster = tree(2, 5);
  std::vector<std::unique_ptr<tests::HybridJob>> jobs;
  std::vector<tests::HybridJob*> all;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back(reducing_job({fmt::format("gpu-{}", i), fmt::format("gpu-{}", i + 5)}, 2));
    all.push_back(jobs.back().get());
  }
  const Outcome outcome = run(all, cluster, std::vector<double>(5));
  for (const JointResult::Times& job : outcome.together.jobs)
    CHECK(iteration(job) == Approx(3 + 5 * 2).epsilon(1e-8));  // buckets are whole bytes
}

// The trunk is the only link of both. Each sends 2 GB of 7 s at 1 GB/s, on both of its sides.
TEST_CASE("shared links say what each job did there in the window", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto one = reducing_job({"gpu-0", "gpu-2"}, 2);
  const auto other = reducing_job({"gpu-1", "gpu-3"}, 2);
  const JointResult together = run({one.get(), other.get()}, cluster, {0, 0}).together;
  constexpr double pieces = 5e-3;  // of time, of which links know
  CHECK(together.window == Approx(4 * 7).epsilon(1e-8));
  REQUIRE(together.links.size() == 4);
  for (const execution::SharedLink& link : together.links) {
    CAPTURE(link.name);
    CHECK(link.name.starts_with("trunk-"));
    for (const double bytes : link.bytes)
      CHECK(bytes / (link.bandwidth * together.window) == Approx(2.0 / 7).epsilon(pieces));
    // Of every iteration, both ends of the way are used up for 4 s, of which 2 s are waited.
    for (const double waited : link.waited) CHECK(waited == Approx(4 * 2).epsilon(pieces));
  }
}

TEST_CASE("jobs of unlike iterations are watched while both run", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto quick = reducing_job({"gpu-0", "gpu-1"}, 1);  // of one leaf
  auto slow = reducing_job({"gpu-2", "gpu-3"}, 30);
  const JointResult together = run({quick.get(), slow.get()}, cluster, {0, 0}, 2).together;
  // The slow one ends iterations at 33, 66 and 99 s, the quick one every 4 s.
  CHECK(together.jobs[1].ends.size() == 3);
  CHECK(together.jobs[0].ends[together.jobs[0].first] == Approx(36));
  CHECK(together.jobs[0].ends.back() == Approx(96));
  CHECK(iteration(together.jobs[0]) == Approx(4));
  CHECK(together.links.empty());
}

TEST_CASE("a job's rows count from its own start", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto one = reducing_job({"gpu-0", "gpu-2"}, 2);
  const auto other = reducing_job({"gpu-1", "gpu-3"}, 2);
  const Outcome outcome = run({one.get(), other.get()}, cluster, {0, 2.5});
  CHECK(outcome.traces[1].passes.front().start == 0);
  CHECK(outcome.traces[1].steps.front().end == Approx(5));
}

TEST_CASE("what links a job's flows share is known before it runs", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto job = reducing_job({"gpu-0", "gpu-2"}, 2);
  const execution::LinksOfJob links = execution::links_of(job->job(cluster));
  CHECK(links.in_passes.empty());
  std::set<std::string> names;
  for (const cluster::Link* link : links.outside_passes)
    names.insert(cluster::Cluster::link_name(link));
  CHECK(names == std::set<std::string>{"own-0_UP", "own-0_DOWN", "own-2_UP", "own-2_DOWN",
                                       "trunk-0_UP", "trunk-0_DOWN", "trunk-1_UP", "trunk-1_DOWN"});
}

namespace {

// A random job on some of the GPUs, with a boundary tensor and gradients that take as long as
// passes, so that it contends.
std::unique_ptr<tests::HybridJob> random_job_on(const std::vector<std::string>& gpus,
                                                tests::Random& random) {
  const auto& catalog = schedules::catalog();
  while (true) {
    const auto& entry = catalog[random.whole(0, static_cast<std::uint32_t>(catalog.size()) - 1)];
    auto job = tests::random_job(
        entry, random, {.gpus = static_cast<std::uint32_t>(gpus.size()), .most_microbatches = 4});
    if (job == nullptr || (job->schedule.routes.count() > 1 && job->conditions.zero >= 2)) continue;
    if (job->ranks.size() < 2 || job->ranks.size() > gpus.size()) continue;
    schedules::set_iterations(job->schedule, 3);
    job->set_parameters(random.whole(1, 4) * 1'000'000);
    job->costs.boundary_bytes = random.whole(1, 8) * 1'000'000;
    job->placement.assign(gpus.begin(), gpus.begin() + job->ranks.size());
    return job;
  }
}

std::vector<std::string> every_other(std::uint32_t first, std::uint32_t all) {
  std::vector<std::string> gpus;
  for (std::uint32_t gpu = first; gpu < all; gpu += 2) gpus.push_back(fmt::format("gpu-{}", gpu));
  return gpus;
}

}  // namespace

TEST_CASE("random jobs at once are no faster than alone and send as many bytes", "[together]") {
  const cluster::Cluster cluster = tree(4, 4);
  tests::Random random(4711);
  for (int round = 0; round < 60; ++round) {
    const auto one = random_job_on(every_other(0, 16), random);
    const auto other = random_job_on(every_other(1, 16), random);
    CAPTURE(round, one->schedule.name, other->schedule.name);
    // More than there are: all iterations are run.
    constexpr std::uint32_t all = 100;
    const Outcome both = run({one.get(), other.get()}, cluster, {0, random.real(0, 0.02)}, all);
    for (std::size_t i = 0; i < 2; ++i) {
      const Outcome alone = run({i == 0 ? one.get() : other.get()}, cluster, {0}, all);
      CHECK(both.together.jobs[i].ends.size() == 3);
      CHECK(both.together.jobs[i].ends.back() >= alone.together.jobs[0].ends.back() * (1 - 1e-9));
      const auto bytes = bytes_of(both.traces[i]);
      const auto bytes_alone = bytes_of(alone.traces[0]);
      const double all_bytes = sum_of_bytes(alone.traces[0]);
      CHECK(sum_of_bytes(both.traces[i]) == Approx(all_bytes).epsilon(1e-6).margin(64));
      // Where nothing folds, each link has as many.
      if (one->ranks.ranks_per_stage() == 1 && other->ranks.ranks_per_stage() == 1)
        for (const auto& [link, count] : bytes_alone)
          CHECK(bytes.at(link) == Approx(count).epsilon(1e-6).margin(8));
    }
  }
}

TEST_CASE("what comes after the window changes nothing of what was before", "[together]") {
  const cluster::Cluster cluster = tree(4, 4);
  tests::Random random(99);
  for (int round = 0; round < 60; ++round) {
    const auto one = random_job_on(every_other(0, 16), random);
    const auto other = random_job_on(every_other(1, 16), random);
    CAPTURE(round, one->schedule.name, other->schedule.name);
    for (tests::HybridJob* job : {one.get(), other.get()})
      schedules::set_iterations(job->schedule, 60);
    const double offset = random.real(0, 0.02);
    const JointResult few = run({one.get(), other.get()}, cluster, {0, offset}, 1).together;
    const JointResult more = run({one.get(), other.get()}, cluster, {0, offset}, 3).together;
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(few.jobs[i].first == more.jobs[i].first);
      CHECK(few.jobs[i].ends.size() > few.jobs[i].first + 1);
      REQUIRE(few.jobs[i].ends.size() <= more.jobs[i].ends.size());
      for (std::size_t k = 0; k < few.jobs[i].ends.size(); ++k)
        CHECK(few.jobs[i].ends[k] == Approx(more.jobs[i].ends[k]).epsilon(1e-9));
    }
  }
}

// A pass computes for 1 s, and waits for its own all-reduce of 1 GB in a ring of two.
TEST_CASE("collectives within passes share links with another job's in full detail", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto job_on = [](const std::vector<std::string>& hosts) {
    auto job = std::make_unique<tests::HybridJob>(
        schedules::make_schedule("1f1b", {.devices = 1, .microbatches = 1, .iterations = 40}),
        tests::Layout{.tp = 2});
    job->communication().global_norm = false;
    job->communication().detail = config::Detail::full;
    job->add_call(schedules::PassKind::forward,
                  {.group = workload::Group::tp, .bytes = 1'000'000'000});
    job->placement = hosts;
    return job;
  };
  const auto one = job_on({"gpu-0", "gpu-2"});
  const auto other = job_on({"gpu-1", "gpu-3"});
  CHECK(execution::links_of(one->job(cluster)).in_passes.size() == 8);
  CHECK(execution::links_of(one->job(cluster)).outside_passes.empty());
  const auto [offset, seconds] =
      GENERATE(table<double, double>({{0, 5}, {0.5, 4.5}, {1, 4}, {2.5, 4}, {3.25, 4.25}}));
  CAPTURE(offset);
  const JointResult together = run({one.get(), other.get()}, cluster, {0, offset}).together;
  for (const JointResult::Times& job : together.jobs)
    CHECK(iteration(job) == Approx(seconds).epsilon(1e-9));
  // Both ends of the way fare alike, in either direction.
  REQUIRE(together.links.size() == 1);
  CHECK(together.links[0].alike == 4);
}

TEST_CASE("random jobs that share no link run as alone", "[together]") {
  const cluster::Cluster cluster = tests::mesh_cluster(16);
  tests::Random random(815);
  for (int round = 0; round < 40; ++round) {
    const auto one = random_job_on(every_other(0, 16), random);
    const auto other = random_job_on(every_other(1, 16), random);
    CAPTURE(round, one->schedule.name, other->schedule.name);
    const Outcome both = run({one.get(), other.get()}, cluster, {0, 0}, 100);
    CHECK(both.together.links.empty());
    for (std::size_t i = 0; i < 2; ++i) {
      const auto& ends = both.together.jobs[i].ends;
      const auto alone = run({i == 0 ? one.get() : other.get()}, cluster, {0}, 100);
      REQUIRE(ends.size() == alone.together.jobs[0].ends.size());
      // SimGrid takes events that are 1e-12 s apart for one.
      for (std::size_t k = 0; k < ends.size(); ++k)
        CHECK(ends[k] == Approx(alone.together.jobs[0].ends[k]).epsilon(1e-11));
    }
  }
}
