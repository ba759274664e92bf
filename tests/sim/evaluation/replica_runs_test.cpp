#include "sim/evaluation/replica_runs.hpp"

#include <numeric>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "analysis/trace/reader.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

// Tests that the explanation of a run names the cause that makes it slower than its ideal run.

using namespace pipewright;

namespace {

struct Planted {
  std::string key;    // of the scenario
  std::string cause;  // text that the explanation of the first cause contains
};

Planted plant(tests::Random& random, std::uint32_t devices, std::uint32_t replicas,
              std::uint32_t nodes) {
  if (random.whole(0, 2) == 0) {
    // Link of a node to the leaf switch of one rail.
    const std::string link =
        fmt::format("leaf-0-{}_link_{}", random.whole(0, 7), random.whole(0, nodes - 1));
    return {fmt::format("variation.slow_links='{{link: {}, factor: {:.2f}}}'", link,
                        random.real(0.02, 0.2)),
            link};
  }
  const std::uint32_t device = random.whole(0, devices - 1);
  const std::uint32_t replica = random.whole(0, replicas - 1);
  return {fmt::format("variation.stragglers='{{device: {}, replica: {}, factor: {:.2f}}}'", device,
                      replica, random.real(1.1, 1.6)),
          fmt::format("device {} in replica {} ", device, replica)};
}

analysis::WhyReport explain(const trace::Trace& trace) {
  evaluation::ReplicaRuns runs(trace, "the run");
  return analysis::why(trace, "the run", runs.reruns());
}

}  // namespace

TEST_CASE("the explanation of a run names the cause that makes it slow", "[why]") {
  const tests::CommandFolder place;
  constexpr std::uint32_t nodes = 4;
  REQUIRE(place.run("platform make --node dgx-h100 --nodes 4 -o cluster.xml").status == 0);
  tests::Random random(12);
  int named = 0;
  int slower = 0;
  for (int round = 0; round < 40; ++round) {
    const std::uint32_t tp = random.flip() ? 2 : 4;
    const std::uint32_t devices = random.flip() ? 2 : 4;
    const std::uint32_t replicas = 8 * nodes / tp / devices;
    const Planted planted = plant(random, devices, replicas, nodes);
    const std::string words = fmt::format(
        "run --set cluster=cluster.xml model=llama-3-8b microbatches={} schedule={} "
        "training.sequence=2048 parallel='{{tp: {}, pp: {}, dp: {}, zero: {}}}' {} --trace a.h5",
        random.whole(4, 12), random.flip() ? "1f1b" : "zb-h1", tp, devices, replicas,
        random.whole(0, 1), planted.key);
    const tests::ProgramResult ran = place.run(words);
    INFO(words);
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    const trace::Trace trace = trace::read_trace(place.folder() / "a.h5");
    const analysis::WhyReport report = explain(trace);
    REQUIRE(report.lost);
    CHECK(report.lost->ideal_s + report.lost->seconds == Approx(report.makespan_s));
    double sum = 0;
    for (const analysis::LostTimeCause& cause : report.lost->causes) sum += cause.seconds;
    if (!report.lost->causes.empty()) CHECK(sum == Approx(report.lost->seconds));
    double path = 0;
    for (const analysis::PathShare& share : report.path.parts) path += share.seconds;
    CHECK(path == Approx(report.makespan_s));
    if (report.lost->seconds < 1e-3 * report.makespan_s) continue;
    ++slower;
    const std::string first = analysis::words(report.lost->causes.front());
    INFO(first);
    named += first.find(planted.cause) != std::string::npos ? 1 : 0;
  }
  CAPTURE(slower, named);
  CHECK(slower > 20);
  CHECK(named >= 0.95 * slower);
}

TEST_CASE("waits for another replica are no bubble of the first one", "[why]") {
  const tests::CommandFolder place;
  REQUIRE(place
              .run("run --set cluster=dgx-h100 model=llama-3-8b microbatches=8 "
                   "training.sequence=4096 parallel='{tp: 2, pp: 4, dp: 4, sp: true, zero: 1}' "
                   "--trace plain.h5")
              .status == 0);
  REQUIRE(place
              .run("run --set cluster=dgx-h100 model=llama-3-8b microbatches=8 "
                   "training.sequence=4096 parallel='{tp: 2, pp: 4, dp: 4, sp: true, zero: 1}' "
                   "variation.stragglers='{device: 2, replica: 3, factor: 1.25}' --trace slow.h5")
              .status == 0);
  const analysis::WhyReport plain = explain(trace::read_trace(place.folder() / "plain.h5"));
  const analysis::WhyReport slow = explain(trace::read_trace(place.folder() / "slow.h5"));
  CHECK_FALSE(plain.lost);
  REQUIRE(slow.lost);
  CHECK(analysis::words(slow.lost->causes.front()).find("compute of device 2 in replica 3") == 0);
  CHECK(slow.lost->causes.front().seconds > 0.9 * slow.lost->seconds);
  for (std::size_t device = 0; device < slow.devices.size(); ++device) {
    CHECK(plain.devices[device].replicas_s == 0);
    CHECK(slow.devices[device].replicas_s > 0.5 * slow.lost->seconds);
    CHECK(slow.devices[device].cool_down_s < plain.devices[device].cool_down_s * 1.03);
    CHECK(slow.devices[device].total_s() == Approx(slow.makespan_s));
  }
}
