#include <catch2/catch.hpp>

#include "analysis/commlogs/reports/bench_report.hpp"
#include "tests/analysis/commlogs/logs/logs.hpp"

namespace pipewright::analysis {

using namespace pipewright::test;

TEST_CASE("a log of comm bench is read with the operation, ranks and times of its simulation") {
  for (const std::uint32_t ranks : {2U, 8U, 16U, 72U})
    for (const OperationInfo& info : operation_list()) {
      CAPTURE(info.name, ranks);
      BenchReport report;
      report.cluster = "some-cluster";
      report.operation = info.operation;
      report.nodes = 2;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        report.gpus.emplace_back("A100");
        report.node_of.push_back(2 * rank / ranks);
      }
      for (std::uint64_t bytes = 1024; bytes <= 1ULL << 33U; bytes *= 8)
        report.rows.push_back(
            {bytes, 12.345e-6 + static_cast<double>(bytes) / 180e9, 1e-5, "ring"});
      const MeasurementLog log = read_text(bench_log(report));
      CHECK(log.remarks.empty());
      REQUIRE(log.rows.size() == report.rows.size());
      for (std::size_t i = 0; i < log.rows.size(); ++i) {
        CHECK(log.rows[i].operation == info.operation);
        CHECK(log.rows[i].ranks == ranks);
        CHECK(log.rows[i].nodes == 2);
        CHECK(log.rows[i].bytes == report.rows[i].bytes);
        CHECK(log.rows[i].seconds == Approx(report.rows[i].seconds).epsilon(1e-3));
        CHECK_FALSE(log.rows[i].in_place);
      }
    }
}

TEST_CASE("the table that comm bench prints is not read as a log") {
  BenchReport report;
  report.gpus = {"A100", "A100"};
  report.node_of = {0, 0};
  report.rows.push_back({1024, 1e-5, 1e-5, "ring"});
  CHECK(log_error(bench_text(report)).find("no table found") != std::string::npos);
}

}  // namespace pipewright::analysis
