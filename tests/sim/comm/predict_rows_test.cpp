#include "sim/comm/predict_rows.hpp"

#include <catch2/catch.hpp>

#include "sim/config/text/library.hpp"

namespace pipewright::comm {
namespace {

using analysis::ComparedCurve;
using analysis::ComparedRow;
using analysis::Measurement;

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

TEST_CASE("rows are predicted in their order, each as if it were alone", "[comm]") {
  cluster::Cluster cluster = library_cluster();
  std::vector<Measurement> rows;
  for (const std::uint64_t bytes : {std::uint64_t{1} << 30, std::uint64_t{8}, std::uint64_t{8}})
    for (const Operation operation : {Operation::all_reduce, Operation::all_to_all})
      for (const std::uint32_t ranks : {2U, 8U, 16U}) rows.push_back(row(operation, ranks, bytes));
  std::vector<std::size_t> heard;
  const std::vector<ComparedRow> predicted =
      predict_rows(cluster, rows, Algorithm::automatic, [&](std::size_t done, std::size_t of) {
        heard.push_back(done);
        CHECK(of == rows.size());
      });
  REQUIRE(predicted.size() == rows.size());
  CHECK(heard.size() == rows.size());
  CHECK(heard.back() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Prediction alone =
        simulate(cluster, one_group(cluster, rows[i].operation, rows[i].ranks), rows[i].bytes);
    CHECK(predicted[i].predicted == Approx(alone.seconds).epsilon(1e-9));
    CHECK(predicted[i].by == alone.by);
    CHECK(predicted[i].measured.bytes == rows[i].bytes);
    CHECK(predicted[i].predicted > 0);
  }
}

TEST_CASE("the algorithm asked for is the one that is predicted", "[comm]") {
  cluster::Cluster cluster = library_cluster();
  const std::vector<Measurement> rows{row(Operation::all_reduce, 16, 1 << 20)};
  const ComparedRow ring = predict_rows(cluster, rows, Algorithm::ring).front();
  const ComparedRow tree = predict_rows(cluster, rows, Algorithm::tree).front();
  CHECK_THAT(ring.by, Catch::StartsWith("ring"));
  CHECK_THAT(tree.by, Catch::StartsWith("tree"));
  CHECK(ring.predicted != tree.predicted);
}

TEST_CASE("a row of more ranks than the cluster has is told with its place in the log", "[comm]") {
  cluster::Cluster cluster = library_cluster();
  std::vector<Measurement> rows{row(Operation::all_reduce, 2, 8),
                                row(Operation::all_reduce, 4096, 8)};
  CHECK_THROWS_WITH(predict_rows(cluster, rows), Catch::StartsWith("some.log:12: ") &&
                                                     Catch::Contains("4096") &&
                                                     Catch::Contains("platform make"));
  rows[1] = row(Operation::all_reduce, 16, 8);
  rows[1].nodes = 3;
  CHECK_THROWS_WITH(predict_rows(cluster, rows), Catch::StartsWith("some.log:12: "));
}

TEST_CASE("between the rows of a curve there are eight predictions each doubling", "[comm]") {
  const cluster::Cluster cluster = library_cluster();
  ComparedCurve curve{"curve", {}};
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1} << 10, std::uint64_t{1} << 20})
    curve.rows.push_back({row(Operation::all_reduce, 16, bytes), 0, "", false});
  const auto points = predict_between(cluster, curve);
  CHECK(points.size() == 81);
  CHECK(points.front().bytes == 1 << 10);
  CHECK(points.back().bytes == 1 << 20);
  const Formula formula(one_group(cluster, Operation::all_reduce, 16));
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].seconds == formula.seconds(points[i].bytes));
    if (i > 0) CHECK(points[i].bytes > points[i - 1].bytes);
  }
  curve.rows.resize(1);
  CHECK(predict_between(cluster, curve).empty());
}

}  // namespace pipewright::comm
