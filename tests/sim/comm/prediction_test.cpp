#include "sim/comm/prediction.hpp"

#include <catch2/catch.hpp>

#include "sim/comm/bench.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using comm::Operation;
using config::Algorithm;

namespace {

constexpr std::uint64_t S = 840'000'000;
constexpr auto size = static_cast<double>(S);

std::vector<std::string> gpus(const execution::RankPlacement& placement) {
  std::vector<std::string> names;
  for (std::uint32_t rank = 0; rank < placement.size(); ++rank)
    names.push_back(cluster::name_of(placement.host(rank)));
  return names;
}

}  // namespace

TEST_CASE("ranks fill whole nodes, or as many of each as are asked for", "[prediction]") {
  const auto cluster = tests::make_cluster({{4, 2, 4}});
  CHECK(gpus(comm::place_ranks(cluster, 5)) ==
        std::vector<std::string>{"node-0-gpu-0", "node-0-gpu-1", "node-0-gpu-2", "node-0-gpu-3",
                                 "node-1-gpu-0"});
  // A node with too few of them is passed by.
  CHECK(gpus(comm::place_ranks(cluster, 6, 2)) ==
        std::vector<std::string>{"node-0-gpu-0", "node-0-gpu-1", "node-0-gpu-2", "node-2-gpu-0",
                                 "node-2-gpu-1", "node-2-gpu-2"});
  CHECK_THROWS_WITH(comm::place_ranks(cluster, 1), Catch::Contains("it takes two to talk"));
  CHECK_THROWS_WITH(comm::place_ranks(cluster, 11), Catch::Contains("it has 10 GPUs in 3 nodes"));
  CHECK_THROWS_WITH(comm::place_ranks(cluster, 7, 2), Catch::Contains("evenly over 2 nodes"));
  CHECK_THROWS_WITH(comm::place_ranks(cluster, 12, 3), Catch::Contains("no 3 nodes of 4 GPUs"));
}

TEST_CASE("on an idle network simulation, price and formula of an operation are one",
          "[prediction]") {
  auto cluster = tests::make_cluster({{4, 4},
                                      0,
                                      false,
                                      {{"collective.launch", "10us"},
                                       {"collective.ring-ends", "0.3"},
                                       {"nvlink.ll-latency", "0.2"},
                                       {"nvlink.ll-efficiency", "0.4"},
                                       {"nic.ll128-latency", "0.5"},
                                       {"nic.ll128-efficiency", "0.9"}}});
  for (const analysis::OperationInfo& info : analysis::operation_list())
    for (const std::uint32_t ranks : {2U, 4U, 8U}) {
      const comm::BenchmarkRun run = comm::one_group(cluster, info.operation, ranks);
      const comm::Formula formula(run);
      for (const std::uint64_t bytes : {std::uint64_t{8192}, std::uint64_t{1} << 21U, S}) {
        CAPTURE(info.name, ranks, bytes);
        const double simulated = comm::simulate(cluster, run, bytes).seconds;
        CHECK(formula.seconds(bytes) == Approx(simulated).epsilon(2e-4));
        CHECK(comm::alpha_beta(run, bytes) == Approx(simulated).epsilon(2e-4));
      }
    }
}

TEST_CASE("the formula does not see an uplink that groups share", "[prediction]") {
  auto cluster = tests::make_cluster({{4, 4}, 10});  // four NICs of 10 GB/s on 10 GB/s
  const auto seconds = [&](std::uint32_t groups) {
    const comm::BenchmarkRun run =
        comm::several_groups(cluster, Operation::all_reduce, 2, groups, true, Algorithm::automatic);
    CHECK(run.groups.back() == std::vector<std::uint32_t>{groups - 1, 2 * groups - 1});
    return comm::bench(cluster, run, std::vector{S}).front();
  };
  const analysis::BenchRow four = seconds(4);
  CHECK(four.formula == Approx(2 * tests::outside + size / tests::nic));
  CHECK(four.seconds == Approx(2 * tests::outside + 4 * size / tests::nic));
  CHECK(four.difference() == Approx(3).epsilon(1e-3));
}

TEST_CASE("groups follow each other, or have a rank of each stride", "[prediction]") {
  const auto cluster = tests::make_cluster({{4, 4}});
  using Groups = std::vector<std::vector<std::uint32_t>>;
  const auto groups = [&](bool strided) {
    return comm::several_groups(cluster, Operation::all_gather, 2, 3, strided, Algorithm::automatic)
        .groups;
  };
  CHECK(groups(false) == Groups{{0, 1}, {2, 3}, {4, 5}});
  CHECK(groups(true) == Groups{{0, 3}, {1, 4}, {2, 5}});
}

TEST_CASE("NCCL chooses by what it expects, and what is true is what it takes", "[prediction]") {
  auto cluster = tests::make_cluster({{8},
                                      0,
                                      false,
                                      {{"nvlink.ll128-latency", "0.5"},
                                       {"nvlink.ll128-efficiency", "0.5"},
                                       {"expected.nvlink.ll128-efficiency", "1"}}});
  CHECK(cluster.has_tuning_model());
  const comm::BenchmarkRun run =
      comm::one_group(cluster, Operation::all_reduce, 8, 0, Algorithm::ring);
  // Half the latency at all of the bandwidth looks better for any size.
  const comm::Prediction prediction = comm::simulate(cluster, run, S);
  CHECK(prediction.by == "ring, LL128");
  const double expected = 14 * tests::inside * 0.5 + 2 * size * 7 / 8 / (tests::nvlink * 0.5);
  CHECK(prediction.seconds == Approx(expected));
  CHECK(comm::Formula(run).seconds(S) == Approx(expected));
  CHECK(comm::alpha_beta(run, S) == Approx(expected));
}

TEST_CASE("expectations can be kept while numbers change", "[prediction]") {
  auto cluster = tests::make_cluster(
      {{8}, 0, false, {{"nvlink.ll-latency", "0.1"}, {"nvlink.ll-efficiency", "0.5"}}});
  const comm::BenchmarkRun run =
      comm::one_group(cluster, Operation::all_reduce, 8, 0, Algorithm::ring);
  const std::uint64_t few = 8000;
  CHECK(comm::simulate(cluster, run, few).by == "ring, LL");
  cluster.keep_expectations(true);
  cluster.set_parameter("nvlink.ll-latency", 5);
  CHECK(comm::simulate(cluster, run, few).by == "ring, LL");
  cluster.keep_expectations(false);
  CHECK(comm::simulate(cluster, run, few).by == "ring, Simple");
  CHECK(comm::takes(run, Algorithm::ring));
  CHECK_FALSE(comm::takes(run, Algorithm::nvls));
}
