#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/logs/logs.hpp"

namespace pipewright::analysis {

using namespace pipewright::test;

TEST_CASE("what nccl-tests write as JSON is read as their tables are") {
  const MeasurementLog log = read_sample("all_gather.json");
  CHECK(log.remarks.empty());
  REQUIRE(log.rows.size() == 6);
  CHECK(log.rows[0].operation == Operation::all_gather);
  CHECK(log.rows[0].ranks == 8);  // of two processes with four GPUs each
  CHECK(log.rows[0].nodes == 2);
  CHECK(log.rows[0].bytes == 1024);
  CHECK(log.rows[0].seconds == Approx(36.03584e-6));
  CHECK(log.rows[0].type == "float");
  CHECK_FALSE(log.rows[0].in_place);
  CHECK(log.rows[1].in_place);
}

TEST_CASE("JSON of nccl-tests with values that cannot be is refused") {
  CHECK(fault_of(R"({"results":[]})").find("1: the table ends before its first row") == 0);
  CHECK(fault_of(R"({"results":[{"size":"8"}]})").find("1: is no output of nccl-tests' -J") == 0);
  CHECK(fault_of(R"({"args":[1],"results":[]})").find("1: is no output") == 0);
  CHECK(fault_of(R"({"results":[{"size":64,"count":16,"type":"float","out_of_place":)"
                 R"({"time":"nan","alg_bw":1,"bus_bw":1,"nwrong":null}}]})")
            .find("no time") != std::string::npos);
  CHECK(fault_of(R"({"something":1})").find("no line up to here is the header") !=
        std::string::npos);
  CHECK(fault_of(R"({"results":[{"size":64)").find("no line up to here") != std::string::npos);
}

}  // namespace pipewright::analysis
