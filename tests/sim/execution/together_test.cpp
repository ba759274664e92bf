#include "sim/execution/together.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "analysis/trace/sink.hpp"
#include "schedules/deadlock.hpp"
#include "tests/sim/config/support.hpp"
#include "tests/sim/execution/random_jobs.hpp"

// Tests jobs that run at the same time on shared links. Expected values are computed by hand unless
// a comment says otherwise.

using namespace pipewright;
using execution::JobStart;
using execution::JointResult;

namespace {

// Makes a cluster of leaves. Each GPU reaches its leaf's switch over a link of its own with 1 GB/s
// in each direction; all GPUs of a leaf share 1 GB/s in each direction to other leaves. There is no
// latency.
cluster::Cluster tree(std::uint32_t leaves, std::uint32_t gpus) {
  std::string text =
      "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
      "<platform version=\"4.1\"><zone id='tree' routing='Full'>\n";
  const std::uint32_t gpu_count = leaves * gpus;
  const auto link = [](const std::string& name) {
    return fmt::format(
        "<link id='{}' bandwidth='1GBps' latency='0s' sharing_policy='SPLITDUPLEX'/>\n", name);
  };
  for (std::uint32_t a = 0; a < gpu_count; ++a)
    text += fmt::format("<host id='gpu-{}' speed='1Gf'/>", a);
  for (std::uint32_t a = 0; a < gpu_count; ++a) text += link(fmt::format("own-{}", a));
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) text += link(fmt::format("trunk-{}", leaf));
  for (std::uint32_t a = 0; a < gpu_count; ++a)
    for (std::uint32_t b = 0; b < gpu_count; ++b) {
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

// Makes a job of one device with two replicas on these hosts. An iteration computes for 3 s and
// then reduces gradients for `seconds` over a network of 1 GB/s, in a ring of two.
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
  JointResult joint;
  std::vector<trace::Trace> traces;
};

Outcome run(const std::vector<tests::HybridJob*>& jobs, const cluster::Cluster& cluster,
            const std::vector<double>& offsets, std::uint32_t iterations = 4) {
  std::vector<execution::Job> execution_jobs;
  for (const tests::HybridJob* job : jobs) execution_jobs.push_back(job->job(cluster));
  std::vector<trace::TraceCollector> rows(jobs.size());
  std::vector<JobStart> starts;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    starts.push_back({.job = execution_jobs[i], .offset = offsets[i], .sink = rows[i], .info = {}});
  Outcome outcome{execution::run_together(starts, iterations), {}};
  for (trace::TraceCollector& collector : rows)
    outcome.traces.push_back(std::move(collector.trace));
  return outcome;
}

// Returns the mean duration of a job's iterations in the window in which all jobs run.
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

// Returns the bytes on all links together, each row times the number of links that it represents.
double sum_of_bytes(const trace::Trace& trace) {
  double bytes = 0;
  for (const trace::LinkUseRow& row : trace.link_use)
    bytes += static_cast<double>(row.bytes) * trace.links[row.link].alike;
  return bytes;
}

}  // namespace

// Alone, each job computes for C and sends for M. If they start d <= M apart, each has the trunk to
// itself for d and then shares it, so that its transfers take 2M - d in every iteration.
TEST_CASE("jobs that share a link slow each other down only while both send", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto first = reducing_job({"gpu-0", "gpu-2"}, 2);
  const auto second = reducing_job({"gpu-1", "gpu-3"}, 2);
  const auto [offset, seconds] = GENERATE(table<double, double>(
      {{0, 7}, {0.5, 6.5}, {1, 6}, {1.5, 5.5}, {2, 5}, {2.5, 5}, {3, 5}, {4, 6}, {4.5, 6.5}}));
  const Outcome outcome = run({first.get(), second.get()}, cluster, {0, offset});
  CAPTURE(offset);
  for (const JointResult::Times& job : outcome.joint.jobs)
    CHECK(iteration(job) == Approx(seconds).epsilon(1e-8));  // buckets are whole bytes
}

TEST_CASE("all jobs on a link share it equally", "[together]") {
  const cluster::Cluster cluster = tree(2, 5);
  std::vector<std::unique_ptr<tests::HybridJob>> jobs;
  std::vector<tests::HybridJob*> job_pointers;
  for (int i = 0; i < 5; ++i) {
    jobs.push_back(reducing_job({fmt::format("gpu-{}", i), fmt::format("gpu-{}", i + 5)}, 2));
    job_pointers.push_back(jobs.back().get());
  }
  const Outcome outcome = run(job_pointers, cluster, std::vector<double>(5));
  for (const JointResult::Times& job : outcome.joint.jobs)
    CHECK(iteration(job) == Approx(3 + 5 * 2).epsilon(1e-8));  // buckets are whole bytes
}

// The trunk is the only shared link. Each job sends 2 GB per 7 s at 1 GB/s, over both ends of the
// trunk.
TEST_CASE("shared links report the traffic of each job in the window", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto first = reducing_job({"gpu-0", "gpu-2"}, 2);
  const auto second = reducing_job({"gpu-1", "gpu-3"}, 2);
  const JointResult joint = run({first.get(), second.get()}, cluster, {0, 0}).joint;
  constexpr double bin_tolerance = 5e-3;  // relative length of a time bin
  CHECK(joint.window == Approx(4 * 7).epsilon(1e-8));
  REQUIRE(joint.links.size() == 4);
  for (const execution::SharedLink& link : joint.links) {
    CAPTURE(link.name);
    CHECK(link.name.starts_with("trunk-"));
    for (const double bytes : link.bytes)
      CHECK(bytes / (link.bandwidth * joint.window) == Approx(2.0 / 7).epsilon(bin_tolerance));
    // Per iteration, the links at both ends of the trunk are fully used for 4 s, during which flows
    // lose 2 s by sharing.
    for (const double waited : link.waited) CHECK(waited == Approx(4 * 2).epsilon(bin_tolerance));
  }
}

TEST_CASE("the window of jobs with different iterations covers the time in which both run",
          "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto quick = reducing_job({"gpu-0", "gpu-1"}, 1);  // within one leaf
  auto slow = reducing_job({"gpu-2", "gpu-3"}, 30);
  const JointResult joint = run({quick.get(), slow.get()}, cluster, {0, 0}, 2).joint;
  // The slow job ends an iteration at 33, 66 and 99 s, the quick job every 4 s. The window lies in
  // the time of both.
  CHECK(joint.jobs[1].ends.size() == 3);
  CHECK(joint.jobs[0].ends[joint.jobs[0].first] == Approx(36));
  CHECK(joint.jobs[0].ends.back() == Approx(96));
  CHECK(iteration(joint.jobs[0]) == Approx(4));
  CHECK(joint.links.empty());
}

TEST_CASE("the rows of a job count from its own start", "[together]") {
  const cluster::Cluster cluster = tree(2, 2);
  const auto first = reducing_job({"gpu-0", "gpu-2"}, 2);
  const auto second = reducing_job({"gpu-1", "gpu-3"}, 2);
  const Outcome outcome = run({first.get(), second.get()}, cluster, {0, 2.5});
  CHECK(outcome.traces[1].passes.front().start == 0);
  CHECK(outcome.traces[1].steps.front().end == Approx(5));
}

TEST_CASE("the links that a job's flows share are known before it runs", "[together]") {
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

// Makes a random job on these GPUs. Sending its boundary tensor and gradients takes about as long
// as its passes, so that flows contend.
std::unique_ptr<tests::HybridJob> random_job_on(const std::vector<std::string>& gpus,
                                                tests::Random& random) {
  const auto& catalog = schedules::catalog();
  while (true) {
    const auto& entry = catalog[random.whole(0, static_cast<std::uint32_t>(catalog.size()) - 1)];
    auto job = tests::random_job(
        entry, random, {.gpus = static_cast<std::uint32_t>(gpus.size()), .max_microbatches = 4});
    if (job == nullptr || (job->schedule.routes.count() > 1 && job->conditions.zero >= 2)) continue;
    if (job->ranks.size() < 2 || job->ranks.size() > gpus.size()) continue;
    schedules::set_iterations(job->schedule, 3);
    job->set_parameters(random.whole(1, 4) * 1'000'000);
    job->costs.boundary_bytes = random.whole(1, 8) * 1'000'000;
    job->placement.assign(gpus.begin(), gpus.begin() + job->ranks.size());
    return job;
  }
}

std::vector<std::string> every_other(std::uint32_t first, std::uint32_t gpu_count) {
  std::vector<std::string> gpus;
  for (std::uint32_t gpu = first; gpu < gpu_count; gpu += 2)
    gpus.push_back(fmt::format("gpu-{}", gpu));
  return gpus;
}

}  // namespace

TEST_CASE("random jobs that run at once are no faster than alone and send the same bytes",
          "[together]") {
  const cluster::Cluster cluster = tree(4, 4);
  tests::Random random(4711);
  for (int round = 0; round < 60; ++round) {
    const auto first = random_job_on(every_other(0, 16), random);
    const auto second = random_job_on(every_other(1, 16), random);
    CAPTURE(round, first->schedule.name, second->schedule.name);
    // More iterations than the jobs have, so that they are not stopped early.
    constexpr std::uint32_t all_iterations = 100;
    const Outcome both =
        run({first.get(), second.get()}, cluster, {0, random.real(0, 0.02)}, all_iterations);
    for (std::size_t i = 0; i < 2; ++i) {
      const Outcome alone =
          run({i == 0 ? first.get() : second.get()}, cluster, {0}, all_iterations);
      CHECK(both.joint.jobs[i].ends.size() == 3);
      CHECK(both.joint.jobs[i].ends.back() >= alone.joint.jobs[0].ends.back() * (1 - 1e-9));
      const auto bytes = bytes_of(both.traces[i]);
      const auto bytes_alone = bytes_of(alone.traces[0]);
      const double expected_bytes = sum_of_bytes(alone.traces[0]);
      CHECK(sum_of_bytes(both.traces[i]) == Approx(expected_bytes).epsilon(1e-6).margin(64));
      // Jobs with one rank per stage have no equivalent flows, so that the bytes of every single
      // link can be compared.
      if (first->ranks.ranks_per_stage() == 1 && second->ranks.ranks_per_stage() == 1)
        for (const auto& [link, count] : bytes_alone)
          CHECK(bytes.at(link) == Approx(count).epsilon(1e-6).margin(8));
    }
  }
}

TEST_CASE("the end of the window does not change earlier iterations", "[together]") {
  const cluster::Cluster cluster = tree(4, 4);
  tests::Random random(99);
  for (int round = 0; round < 60; ++round) {
    const auto first = random_job_on(every_other(0, 16), random);
    const auto second = random_job_on(every_other(1, 16), random);
    CAPTURE(round, first->schedule.name, second->schedule.name);
    for (tests::HybridJob* job : {first.get(), second.get()})
      schedules::set_iterations(job->schedule, 60);
    const double offset = random.real(0, 0.02);
    const JointResult short_run = run({first.get(), second.get()}, cluster, {0, offset}, 1).joint;
    const JointResult long_run = run({first.get(), second.get()}, cluster, {0, offset}, 3).joint;
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(short_run.jobs[i].first == long_run.jobs[i].first);
      CHECK(short_run.jobs[i].ends.size() > short_run.jobs[i].first + 1);
      REQUIRE(short_run.jobs[i].ends.size() <= long_run.jobs[i].ends.size());
      for (std::size_t k = 0; k < short_run.jobs[i].ends.size(); ++k)
        CHECK(short_run.jobs[i].ends[k] == Approx(long_run.jobs[i].ends[k]).epsilon(1e-9));
    }
  }
}

// Both jobs run passes of 1 s, each of which ends with an all-reduce of 1 GB in a ring of two.
TEST_CASE("in full detail collectives inside passes share links with another job", "[together]") {
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
  const auto first = job_on({"gpu-0", "gpu-2"});
  const auto second = job_on({"gpu-1", "gpu-3"});
  CHECK(execution::links_of(first->job(cluster)).in_passes.size() == 8);
  CHECK(execution::links_of(first->job(cluster)).outside_passes.empty());
  const auto [offset, seconds] =
      GENERATE(table<double, double>({{0, 5}, {0.5, 4.5}, {1, 4}, {2.5, 4}, {3.25, 4.25}}));
  CAPTURE(offset);
  const JointResult joint = run({first.get(), second.get()}, cluster, {0, offset}).joint;
  for (const JointResult::Times& job : joint.jobs)
    CHECK(iteration(job) == Approx(seconds).epsilon(1e-9));
  // The two links at either end of the trunk have the same load in both directions, so one row
  // represents all four.
  REQUIRE(joint.links.size() == 1);
  CHECK(joint.links[0].alike == 4);
}

TEST_CASE("random jobs that share no link run as fast as alone", "[together]") {
  const cluster::Cluster cluster = tests::mesh_cluster(16);
  tests::Random random(815);
  for (int round = 0; round < 40; ++round) {
    const auto first = random_job_on(every_other(0, 16), random);
    const auto second = random_job_on(every_other(1, 16), random);
    CAPTURE(round, first->schedule.name, second->schedule.name);
    const Outcome both = run({first.get(), second.get()}, cluster, {0, 0}, 100);
    CHECK(both.joint.links.empty());
    for (std::size_t i = 0; i < 2; ++i) {
      const auto& ends = both.joint.jobs[i].ends;
      const auto alone = run({i == 0 ? first.get() : second.get()}, cluster, {0}, 100);
      REQUIRE(ends.size() == alone.joint.jobs[0].ends.size());
      // SimGrid treats events within 1e-12 s as simultaneous.
      for (std::size_t k = 0; k < ends.size(); ++k)
        CHECK(ends[k] == Approx(alone.joint.jobs[0].ends[k]).epsilon(1e-10));
    }
  }
}
