#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/logs/logs.hpp"

namespace pipewright::analysis {

using namespace pipewright::test;

TEST_CASE("the JSON of nccl-tests is read like its tables") {
  const MeasurementLog log = read_sample("all_gather.json");
  CHECK(log.remarks.empty());
  REQUIRE(log.rows.size() == 6);
  CHECK(log.rows[0].operation == Operation::all_gather);
  CHECK(log.rows[0].ranks == 8);  // Two processes with four GPUs each.
  CHECK(log.rows[0].nodes == 2);
  CHECK(log.rows[0].bytes == 1024);
  CHECK(log.rows[0].seconds == Approx(36.03584e-6));
  CHECK(log.rows[0].type == "float");
  CHECK_FALSE(log.rows[0].in_place);
  CHECK(log.rows[1].in_place);
}

TEST_CASE("JSON of nccl-tests with impossible values is refused") {
  CHECK(log_error(R"({"results":[]})").find("1: the table ends before its first row") == 0);
  CHECK(log_error(R"({"results":[{"size":"8"}]})").find("1: not valid output of nccl-tests -J") ==
        0);
  CHECK(log_error(R"({"args":[1],"results":[]})").find("1: not valid output") == 0);
  CHECK(log_error(R"({"results":[{"size":64,"count":16,"type":"float","out_of_place":)"
                  R"({"time":"nan","alg_bw":1,"bus_bw":1,"nwrong":null}}]})")
            .find("no time") != std::string::npos);
  CHECK(log_error(R"({"something":1})").find("no table found up to here") != std::string::npos);
  CHECK(log_error(R"({"results":[{"size":64)").find("no table found up to here") !=
        std::string::npos);
}

}  // namespace pipewright::analysis
