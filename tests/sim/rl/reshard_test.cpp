#include "sim/rl/reshard.hpp"

#include <map>

#include <catch2/catch.hpp>

#include "sim/cluster/cluster.hpp"
#include "support/paths.hpp"

using namespace pipewright;

namespace {

config::Parallel make_parallel(std::uint32_t tp, std::uint32_t pp, std::uint32_t dp,
                               std::uint32_t ep = 1) {
  config::Parallel parallel;
  parallel.tp.value = tp;
  parallel.pp.value = pp;
  parallel.dp.value = dp;
  parallel.ep.value = ep;
  if (ep > 1) parallel.etp = config::Located<std::uint32_t>{1, {}};
  return parallel;
}

// Bytes that arrive at each GPU of the engines, with those that it has already.
std::map<std::uint32_t, double> received(const std::vector<rl::WeightFlow>& flows) {
  std::map<std::uint32_t, double> bytes;
  for (const rl::WeightFlow& flow : flows) bytes[flow.receiver] += flow.bytes;
  return bytes;
}

}  // namespace

TEST_CASE("every GPU of an engine gets its part of the weights", "[rl]") {
  const std::vector<rl::DeviceWeights> weights{{.dense = 800, .experts = 320}, {.dense = 400}};
  for (const std::uint32_t zero : {0U, 3U}) {
    config::Parallel parallel = make_parallel(4, 2, 2, 4);
    parallel.zero = zero;
    const workload::Ranks ranks(parallel);
    for (const std::uint32_t tp : {1U, 2U, 8U}) {
      CAPTURE(zero, tp);
      const auto bytes = received(rl::weight_flows({.training = parallel,
                                                    .ranks = ranks,
                                                    .weights = weights,
                                                    .engines = 3,
                                                    .tp = tp,
                                                    .first_engine = 16}));
      REQUIRE(bytes.size() == 3 * tp);
      for (const auto& [gpu, total] : bytes) CHECK(total == Approx(1520.0 / tp));
    }
  }
}

TEST_CASE("weights that are on the GPU already do not move", "[rl]") {
  const config::Parallel parallel = make_parallel(2, 1, 2);
  const workload::Ranks ranks(parallel);
  const std::vector<rl::DeviceWeights> weights{{.dense = 100}};
  CHECK(rl::weight_flows(
            {.training = parallel, .ranks = ranks, .weights = weights, .engines = 2, .tp = 2})
            .empty());
}

TEST_CASE("engines beyond the copies of the weights get them from engines before", "[rl]") {
  const config::Parallel parallel = make_parallel(2, 1, 1);
  const workload::Ranks ranks(parallel);
  const std::vector<rl::DeviceWeights> weights{{.dense = 100}};
  const std::vector<rl::WeightFlow> flows = rl::weight_flows({.training = parallel,
                                                              .ranks = ranks,
                                                              .weights = weights,
                                                              .engines = 2,
                                                              .tp = 1,
                                                              .first_engine = 2});
  CHECK(flows == std::vector<rl::WeightFlow>{{0, 2, 50}, {1, 2, 50}, {2, 3, 100}});
}

TEST_CASE("a transfer takes its bytes over the rate that its flows share", "[rl]") {
  const auto cluster = cluster::Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/dgx-a100.xml");
  comm::Paths paths(cluster, cluster.gpus());
  const double rate = paths.uncontended_rate(paths.path(0, 1));
  const auto seconds = [&](std::vector<rl::WeightFlow> flows) {
    return rl::transfer_seconds(paths, flows);
  };
  CHECK(seconds({{0, 1, 1e9}}) == Approx(1e9 / rate));
  // Two receivers share the sender's link.
  CHECK(seconds({{0, 1, 1e9}, {0, 2, 1e9}}) == Approx(2e9 / rate));
  // The shorter one ends first, and leaves its rate to the longer one.
  CHECK(seconds({{0, 1, 1e9}, {0, 2, 3e9}}) == Approx(4e9 / rate));
  CHECK(seconds({}) == 0);
}
