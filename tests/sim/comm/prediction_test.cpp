#include "sim/comm/prediction.hpp"

#include <catch2/catch.hpp>

#include "sim/comm/bench.hpp"
#include "sim/config/text/library.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;
using analysis::ComparedCurve;
using analysis::ComparedRow;
using analysis::Measurement;
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

cluster::Cluster library_cluster() {
  return cluster::Cluster::load(config::library_file("clusters", "dgx-a100", ".xml"), "dgx-a100");
}

Measurement row(Operation operation, std::uint32_t ranks, std::uint64_t bytes) {
  Measurement measured;
  measured.operation = operation;
  measured.ranks = ranks;
  measured.bytes = bytes;
  measured.seconds = 1;
  measured.file = "some.log";
  measured.line = 12;
  return measured;
}

}  // namespace

TEST_CASE("ranks fill whole nodes, or are spread over the requested number of nodes",
          "[prediction]") {
  const auto cluster = tests::make_cluster({{4, 2, 4}});
  CHECK(gpus(comm::place_ranks(cluster, 5)) ==
        std::vector<std::string>{"node-0-gpu-0", "node-0-gpu-1", "node-0-gpu-2", "node-0-gpu-3",
                                 "node-1-gpu-0"});
  // Node 1 is skipped, as it has fewer than three GPUs.
  CHECK(gpus(comm::place_ranks(cluster, 6, 2)) ==
        std::vector<std::string>{"node-0-gpu-0", "node-0-gpu-1", "node-0-gpu-2", "node-2-gpu-0",
                                 "node-2-gpu-1", "node-2-gpu-2"});
  CHECK_THROWS_WITH(comm::place_ranks(cluster, 1), Catch::Contains("at least 2 are needed"));
  CHECK_THROWS_WITH(comm::place_ranks(cluster, 11), Catch::Contains("it has 10 GPUs in 3 nodes"));
  CHECK_THROWS_WITH(comm::place_ranks(cluster, 7, 2), Catch::Contains("evenly over 2 nodes"));
  CHECK_THROWS_WITH(comm::place_ranks(cluster, 12, 3), Catch::Contains("no 3 nodes of 4 GPUs"));
}

TEST_CASE("without contention, the simulation and both formulas of an operation agree",
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
      const comm::BenchmarkRun run = comm::make_single_group(cluster, info.operation, ranks);
      const comm::Formula formula(run);
      for (const std::uint64_t bytes : {std::uint64_t{8192}, std::uint64_t{1} << 21U, S}) {
        CAPTURE(info.name, ranks, bytes);
        const double simulated = comm::simulate(cluster, run, bytes).seconds;
        CHECK(formula.seconds(bytes) == Approx(simulated).epsilon(2e-4));
        CHECK(comm::alpha_beta(run, bytes) == Approx(simulated).epsilon(2e-4));
      }
    }
}

TEST_CASE("the formula ignores an uplink that groups share", "[prediction]") {
  auto cluster = tests::make_cluster({{4, 4}, 10});  // four NICs of 10 GB/s on 10 GB/s
  const auto seconds = [&](std::uint32_t groups) {
    const comm::BenchmarkRun run =
        comm::make_groups(cluster, Operation::all_reduce, 2, groups, true, Algorithm::automatic);
    CHECK(run.groups.back() == std::vector<std::uint32_t>{groups - 1, 2 * groups - 1});
    return comm::bench(cluster, run, std::vector{S}).front();
  };
  const analysis::BenchRow four = seconds(4);
  CHECK(four.formula == Approx(2 * tests::outside + size / tests::nic));
  CHECK(four.seconds == Approx(2 * tests::outside + 4 * size / tests::nic));
  CHECK(four.difference() == Approx(3).epsilon(1e-3));
}

TEST_CASE("groups are consecutive or strided", "[prediction]") {
  const auto cluster = tests::make_cluster({{4, 4}});
  using Groups = std::vector<std::vector<std::uint32_t>>;
  const auto groups = [&](bool strided) {
    return comm::make_groups(cluster, Operation::all_gather, 2, 3, strided, Algorithm::automatic)
        .groups;
  };
  CHECK(groups(false) == Groups{{0, 1}, {2, 3}, {4, 5}});
  CHECK(groups(true) == Groups{{0, 3}, {1, 4}, {2, 5}});
}

TEST_CASE("NCCL chooses by the expected numbers, and the time follows from the actual ones",
          "[prediction]") {
  auto cluster = tests::make_cluster({{8},
                                      0,
                                      false,
                                      {{"nvlink.ll128-latency", "0.5"},
                                       {"nvlink.ll128-efficiency", "0.5"},
                                       {"expected.nvlink.ll128-efficiency", "1"}}});
  CHECK(cluster.has_tuning_model());
  const comm::BenchmarkRun run =
      comm::make_single_group(cluster, Operation::all_reduce, 8, 0, Algorithm::ring);
  // LL128 is chosen, because its latency is compared as if it had the full bandwidth, whatever the
  // size.
  const comm::Prediction prediction = comm::simulate(cluster, run, S);
  CHECK(prediction.method == "ring, LL128");
  const double expected = 14 * tests::inside * 0.5 + 2 * size * 7 / 8 / (tests::nvlink * 0.5);
  CHECK(prediction.seconds == Approx(expected));
  CHECK(comm::Formula(run).seconds(S) == Approx(expected));
  CHECK(comm::alpha_beta(run, S) == Approx(expected));
}

TEST_CASE("expected numbers can be frozen while actual numbers change", "[prediction]") {
  auto cluster = tests::make_cluster(
      {{8}, 0, false, {{"nvlink.ll-latency", "0.1"}, {"nvlink.ll-efficiency", "0.5"}}});
  const comm::BenchmarkRun run =
      comm::make_single_group(cluster, Operation::all_reduce, 8, 0, Algorithm::ring);
  const std::uint64_t large_size = 8'000'000'000;
  CHECK(comm::simulate(cluster, run, large_size).method == "ring, Simple");
  cluster.freeze_expectations(true);
  cluster.set_parameter("nvlink.ll-efficiency", 1);
  CHECK(comm::simulate(cluster, run, large_size).method == "ring, Simple");
  cluster.freeze_expectations(false);
  CHECK(comm::simulate(cluster, run, large_size).method == "ring, LL");
  CHECK(comm::uses_algorithm(run, Algorithm::ring));
  CHECK_FALSE(comm::uses_algorithm(run, Algorithm::nvls));
}

TEST_CASE("rows are predicted in order and independently", "[comm]") {
  cluster::Cluster cluster = library_cluster();
  std::vector<Measurement> rows;
  for (const std::uint64_t bytes : {std::uint64_t{1} << 30, std::uint64_t{8}, std::uint64_t{8}})
    for (const Operation operation : {Operation::all_reduce, Operation::all_to_all})
      for (const std::uint32_t ranks : {2U, 8U, 16U}) rows.push_back(row(operation, ranks, bytes));
  std::vector<std::size_t> reported;
  const std::vector<ComparedRow> predicted = comm::predict_rows(
      cluster, rows, Algorithm::automatic, [&](std::size_t done, std::size_t total) {
        reported.push_back(done);
        CHECK(total == rows.size());
      });
  REQUIRE(predicted.size() == rows.size());
  CHECK(reported.size() == rows.size());
  CHECK(reported.back() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const comm::Prediction alone = comm::simulate(
        cluster, comm::make_single_group(cluster, rows[i].operation, rows[i].ranks), rows[i].bytes);
    CHECK(predicted[i].predicted == Approx(alone.seconds).epsilon(1e-9));
    CHECK(predicted[i].method == alone.method);
    CHECK(predicted[i].measured.bytes == rows[i].bytes);
    CHECK(predicted[i].predicted > 0);
  }
}

TEST_CASE("the requested algorithm is predicted", "[comm]") {
  cluster::Cluster cluster = library_cluster();
  const std::vector<Measurement> rows{row(Operation::all_reduce, 16, 1 << 20)};
  const ComparedRow ring = comm::predict_rows(cluster, rows, Algorithm::ring).front();
  const ComparedRow tree = comm::predict_rows(cluster, rows, Algorithm::tree).front();
  CHECK_THAT(ring.method, Catch::StartsWith("ring"));
  CHECK_THAT(tree.method, Catch::StartsWith("tree"));
  CHECK(ring.predicted != tree.predicted);
}

TEST_CASE("a prediction names the line of a row with more ranks than the cluster has", "[comm]") {
  cluster::Cluster cluster = library_cluster();
  std::vector<Measurement> rows{row(Operation::all_reduce, 2, 8),
                                row(Operation::all_reduce, 4096, 8)};
  CHECK_THROWS_WITH(comm::predict_rows(cluster, rows), Catch::StartsWith("some.log:12: ") &&
                                                           Catch::Contains("4096") &&
                                                           Catch::Contains("platform make"));
  rows[1] = row(Operation::all_reduce, 16, 8);
  rows[1].nodes = 3;
  CHECK_THROWS_WITH(comm::predict_rows(cluster, rows), Catch::StartsWith("some.log:12: "));
}

TEST_CASE("a predicted curve has eight points per doubling", "[comm]") {
  const cluster::Cluster cluster = library_cluster();
  ComparedCurve curve{"curve", {}};
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1} << 10, std::uint64_t{1} << 20})
    curve.rows.push_back({row(Operation::all_reduce, 16, bytes), 0, "", false});
  const auto points = comm::predict_between(cluster, curve);
  CHECK(points.size() == 81);
  CHECK(points.front().bytes == 1 << 10);
  CHECK(points.back().bytes == 1 << 20);
  const comm::Formula formula(comm::make_single_group(cluster, Operation::all_reduce, 16));
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].seconds == formula.seconds(points[i].bytes));
    if (i > 0) CHECK(points[i].bytes > points[i - 1].bytes);
  }
  curve.rows.resize(1);
  CHECK(comm::predict_between(cluster, curve).empty());
}
