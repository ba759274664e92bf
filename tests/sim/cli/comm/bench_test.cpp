#include <catch2/catch.hpp>

#include "support/program.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;

TEST_CASE("comm bench prints what nccl-tests would, beside a formula", "[comm_bench]") {
  const tests::Workplace place;
  place.write("c.xml", tests::platform_text({{4, 4}, 10}));
  const tests::Ran ran =
      place.run("comm bench --cluster c.xml --op all-to-all --sizes 1M,1G --assume '10 GB/s'");
  CHECK(ran.err == "");
  CHECK(ran.status == 0);
  // Half of what a rank has goes to the other node, where four NICs share an uplink of one.
  CHECK(ran.out ==
        "c.xml: all-to-all over 8 ranks on 2 nodes, simulated\n"
        "\n"
        "      size     count           time  algbw  busbw  formula     time to                    "
        "busbw to\n"
        "     bytes  elements  type       us   GB/s   GB/s       us  formula, %  by              "
        "assumed, %\n"
        "   1048576     32768  float   214.7   4.88   4.27    57.43      +273.9  direct, Simple  "
        "     -57.3\n"
        "1073741824  33554432  float  214753   5.00   4.37    53692      +300.0  direct, Simple  "
        "     -56.3\n"
        "\n"
        "The formula (steps x latency + bytes / bandwidth of a GPU's own links) is up to 300.0 % "
        "too fast,\n"
        "at 1073741824 bytes: links are shared, or the way is narrower than its ends.\n"
        "An assumed bus bandwidth of 10 GB/s is within 10 % in 0 of 2 sizes.\n");
}

TEST_CASE("comm bench writes logs, tables and JSON", "[comm_bench]") {
  const tests::Workplace place;
  place.write("c.xml", tests::platform_text({{4}}));
  const tests::Ran ran = place.run(
      "comm bench --cluster c.xml --op broadcast --ranks 4 --sizes 8:8K:32 -o x.log x.csv x.json");
  CHECK(ran.status == 0);
  CHECK_THAT(place.read("x.log"), Catch::Contains("# broadcast_perf\n") &&
                                      Catch::Contains("#  Rank  3 Group  0 Pid      3 on node-0"));
  CHECK_THAT(place.read("x.csv"), Catch::Contains("\nbroadcast,4,1,1,8192,"));
  CHECK_THAT(place.read("x.json"), Catch::Contains("\"bytes\": 8192"));
  const tests::Ran again = place.run("comm compare x.log --cluster c.xml --max-error 1%");
  CHECK(again.status == 0);
  CHECK_THAT(again.out, Catch::Contains("error 0.0 % at the median"));
}

TEST_CASE("comm bench says what is wrong, and what would be right", "[comm_bench]") {
  const tests::Workplace place;
  place.write("c.xml", tests::platform_text({{4}}));
  const auto check = [&](const std::string& arguments, const std::string& words) {
    const tests::Ran ran = place.run("comm bench " + arguments);
    CHECK(ran.status == 2);
    CHECK(ran.out == "");
    CHECK_THAT(ran.err, Catch::Contains(words));
  };
  check("--ranks 4", "which cluster? Give --cluster FILE.xml");
  check("--cluster c.xml --ranks 5", "has no 5 GPUs for as many ranks; it has 4 GPUs in 1 node");
  check("--cluster c.xml --ranks 0", "--ranks 0: 1 or more");
  check("--cluster c.xml --ranks 4 --concurrent 2", "has no 8 GPUs");
  check("--cluster c.xml --op scan", "--op 'scan': there are all-reduce, all-gather");
  check("--cluster c.xml --algorithm best", "--algorithm 'best': automatic, ring, tree");
  check("--cluster c.xml --algorithm nvls", "cannot be left to switches inside nodes");
  check("--cluster c.xml --sizes 8:4", "ends before it begins");
  check("--cluster c.xml --sizes 8:8K:1", "grows by a factor below 2");
  check("--cluster c.xml --sizes 9000T", "is above 1024 TiB");
  check("--cluster c.xml --sizes 4Q", "'4Q' is no size");
  check("--cluster c.xml --assume 180", "a bus bandwidth such as 180 GB/s");
  check("--cluster c.xml -o x.html", "a name that ends in .csv, .json or .log");
  check("--cluster c.xml all-reduce", "--cluster names one cluster, not c.xml and all-reduce");
  check("all-reduce --cluster c.xml", "what is 'all-reduce'? Options begin with --");
}
