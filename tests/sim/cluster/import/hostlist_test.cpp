#include "sim/cluster/import/hostlist.hpp"

#include <catch2/catch.hpp>

#include "sim/cluster/platform/error.hpp"

using namespace pipewright;
using Names = std::vector<std::string>;

TEST_CASE("a hostlist is expanded as in Slurm", "[import]") {
  CHECK(cluster::expand_hostlist("tux") == Names{"tux"});
  CHECK(cluster::expand_hostlist("node[001-003,7],login") ==
        Names{"node001", "node002", "node003", "node7", "login"});
  CHECK(cluster::expand_hostlist("node[08-11]") == Names{"node08", "node09", "node10", "node11"});
  CHECK(cluster::expand_hostlist("r[1-2]n[a,b]x") == Names{"r1nax", "r1nbx", "r2nax", "r2nbx"});
  CHECK(cluster::expand_hostlist("n[1-16384]").size() == 16384);
}

TEST_CASE("an invalid hostlist is rejected with the reason", "[import]") {
  const auto fault = [](const char* text) -> std::string {
    try {
      cluster::expand_hostlist(text);
    } catch (const cluster::Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(fault("n[1-4") ==
        "'n[1-4' is not a hostlist: '[' is not closed; expected a hostlist such as "
        "node[001-128],login1");
  CHECK_THAT(fault("n1]"), Catch::Contains("']' has no matching '['"));
  CHECK_THAT(fault("n[4-1]"), Catch::Contains("'4-1' runs backwards"));
  CHECK_THAT(fault("n[1-x]"), Catch::Contains("'1-x' in brackets is neither a number nor a range"));
  CHECK_THAT(fault("n[[1-2]]"), Catch::Contains("brackets are nested"));
  CHECK_THAT(fault("a,,b"), Catch::Contains("a name is missing beside a comma"));
  CHECK_THAT(fault(""), Catch::Contains("it is empty"));
  CHECK_THAT(fault("n[0-999999999]"), Catch::Contains("more than 1048576 hosts"));
  CHECK_THAT(fault("n[0-9999][0-9999][0-9999]"), Catch::Contains("more than 1048576 hosts"));
}
