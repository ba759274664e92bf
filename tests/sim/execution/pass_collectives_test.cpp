#include "analysis/report/pass_collectives.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "schedules/families/catalog.hpp"
#include "sim/execution/exposed_time.hpp"
#include "support/jobs.hpp"

// Tests the totals of collectives inside passes by group and operation. F, I and W take one second
// each.

using namespace pipewright;
using execution::EngineKind;
using schedules::PassKind;
using workload::Group;

namespace {

// Returns an all-to-all between two ranks that takes `seconds`.
workload::Call call(Group group, double seconds, std::uint32_t times = 1) {
  return {
      .group = group,
      .collective = workload::Collective::all_to_all,
      .bytes = static_cast<std::uint64_t>(2 * tests::mesh_rate * (seconds - tests::mesh_latency)),
      .times = times};
}

struct Job : tests::HybridJob {
  explicit Job(const char* name, std::uint32_t devices = 1, std::uint32_t microbatches = 3,
               std::uint32_t fused = 0)
      : HybridJob(schedules::make_schedule(
                      name, {.devices = devices, .microbatches = microbatches, .fused = fused}),
                  {.tp = 2, .folded = true}) {
    communication().overlap_grad_reduce = false;
    communication().global_norm = false;
  }
  trace::Trace run(cluster::Cluster& cluster, EngineKind engine) {
    const workload::StageCosts before = costs;
    execution::add_exposed_time(cluster, job(cluster), costs);
    trace::Trace trace = HybridJob::run(cluster, engine);
    costs = before;
    return trace;
  }
};

std::map<std::string, trace::PassCollectiveRow> rows_of_device_0(const trace::Trace& trace) {
  std::map<std::string, trace::PassCollectiveRow> rows;
  for (const trace::PassCollectiveRow& row : trace.pass_collectives)
    if (row.device == 0) rows[row.group + ' ' + row.operation] = row;
  return rows;
}

}  // namespace

TEST_CASE("collectives inside passes are listed by group and operation", "[pass-collectives]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b");
  workload::Call combine = call(Group::ep, 0.5);
  combine.combines = true;
  workload::Call hidden = call(Group::tp, 0.25, 2);
  hidden.overlappable_compute = 0.2;  // 0.1 for each call
  for (const workload::Call& added_call : {call(Group::ep, 0.75), combine, hidden})
    job.add_call(PassKind::forward, added_call);
  job.communication().overlap_slowdown = 1;
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    const auto rows = rows_of_device_0(job.run(cluster, engine));
    REQUIRE(rows.size() == 3);
    CHECK(rows.at("ep dispatch").calls == 3);
    CHECK(rows.at("ep dispatch").bytes == 3 * job.costs.traffic[0][PassKind::forward][0].bytes);
    CHECK(rows.at("ep dispatch").seconds == Approx(3 * 0.75));
    CHECK(rows.at("ep dispatch").exposed == Approx(3 * 0.75));
    CHECK(rows.at("ep combine").exposed == Approx(3 * 0.5));
    CHECK(rows.at("tp all-to-all").calls == 6);
    CHECK(rows.at("tp all-to-all").seconds == Approx(6 * 0.25));
    CHECK(rows.at("tp all-to-all").exposed == Approx(6 * (0.25 - 0.1)));
  }
  // A forward pass waits 0.31 s for its host. In that time a fifth of its collectives runs, which
  // is therefore not exposed.
  job.costs.host_waits[static_cast<int>(PassKind::forward)] = {0.31};
  const auto rows = rows_of_device_0(job.run(cluster, EngineKind::timing));
  CHECK(rows.at("ep dispatch").exposed == Approx(3 * 0.75 * 0.8));
  CHECK(rows.at("tp all-to-all").exposed == Approx(3 * 0.3 * 0.8));
}

TEST_CASE("the exposed time of a pair belongs to dispatch, except for other collectives",
          "[pass-collectives]") {
  auto cluster = tests::mesh_cluster(2);
  Job job("1f1b", 1, 3, 1);
  job.add_call(PassKind::forward, call(Group::ep, 2));
  job.add_call(PassKind::backward, call(Group::ep, 2.5));
  job.add_call(PassKind::backward, call(Group::tp, 0.25));
  // F waits for 2 s and B for 2.5 s of dispatch. A pair computes for 3 s and takes as long as B's
  // chain, 2 + 0.25 + 2.5, so that 1.75 s are exposed, 0.25 of them by other collectives.
  const auto rows = rows_of_device_0(job.run(cluster, EngineKind::timing));
  CHECK(rows.at("ep dispatch").seconds == Approx(3 * 4.5));
  CHECK(rows.at("ep dispatch").exposed == Approx(2 + 2 * 1.5 + 2.5));
  CHECK(rows.at("tp all-to-all").exposed == Approx(3 * 0.25));
}

TEST_CASE("the exposed times of all collectives add up to the waits of passes",
          "[pass-collectives]") {
  auto cluster = tests::mesh_cluster(8);
  using Case = std::pair<const char*, std::uint32_t>;  // name, and whether it has fused pairs
  for (const auto& [name, fused] : {Case{"1f1b", 0}, Case{"interleaved-1f1b", 1}, Case{"zb-1p", 0},
                                    Case{"dualpipe-v", 1}, Case{"dualpipe", 1}, Case{"stp", 1}}) {
    CAPTURE(name);
    Job job(name, 4, 8, fused);
    for (const PassKind kind : {PassKind::forward, PassKind::backward, PassKind::input_grad}) {
      job.add_call(kind, call(Group::ep, 0.5, 3));
      job.add_call(kind, call(Group::tp, 0.125));
    }
    const trace::Trace trace = job.run(cluster, EngineKind::timing);
    const analysis::Summary summary = analysis::summarize(trace);
    REQUIRE(summary.pass_collectives.size() == 2);
    std::vector<double> exposed(4);
    for (const trace::PassCollectiveRow& row : trace.pass_collectives)
      exposed.at(row.device) += row.exposed;
    for (std::uint32_t device = 0; device < 4; ++device)
      CHECK(summary.devices[device].parts.in_passes == Approx(exposed[device]));
  }
}

TEST_CASE("braided pairs expose 2p+1 tensor-parallel collectives, 1F1B 2m and ZB-V 4m",
          "[pass-collectives]") {
  constexpr std::uint32_t p = 4;
  constexpr std::uint32_t m = 12;
  constexpr double seconds = 0.125;
  auto cluster = tests::mesh_cluster(2 * p);
  // Returns the number of collectives that a device waits for, at most. Each pass of a chunk has
  // one; weight gradients of the same pass hide it in B.
  const auto exposed = [&](const char* name, std::uint32_t fused, EngineKind engine,
                           config::Detail detail) {
    Job job(name, p, m, fused);
    workload::Call beside_weight_grads = call(Group::tp, seconds);
    beside_weight_grads.overlappable_compute = 0.5;
    job.add_call(PassKind::forward, call(Group::tp, seconds));
    job.add_call(PassKind::input_grad, call(Group::tp, seconds));
    job.add_call(PassKind::backward, beside_weight_grads);
    job.communication().detail = detail;
    std::vector<double> waits(p);
    double makespan = 0;
    const trace::Trace trace = job.run(cluster, engine);
    for (const trace::PassCollectiveRow& row : trace.pass_collectives)
      waits.at(row.device) += row.exposed / seconds;
    for (const trace::PassRow& row : trace.passes) makespan = std::max(makespan, row.end);
    return std::pair(*std::ranges::max_element(waits), makespan);
  };
  using config::Detail;
  for (const EngineKind engine : {EngineKind::simgrid, EngineKind::timing}) {
    CHECK(exposed("stp", 1, engine, Detail::fast).first == Approx(2 * p + 1));
    CHECK(exposed("interleaved-1f1b", 0, engine, Detail::fast).first == Approx(2 * m));
    CHECK(exposed("zb-v", 0, engine, Detail::fast).first == Approx(4 * m));
  }
  // The whole iteration is as long in both engines and both levels of detail.
  const double makespan = exposed("stp", 1, EngineKind::timing, Detail::fast).second;
  CHECK(exposed("stp", 1, EngineKind::simgrid, Detail::fast).second == Approx(makespan));
  CHECK(exposed("stp", 1, EngineKind::simgrid, Detail::full).second == Approx(makespan));
  CHECK(exposed("stp", 1, EngineKind::timing, Detail::full).second == Approx(makespan));
}
