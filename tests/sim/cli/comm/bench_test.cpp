#include <catch2/catch.hpp>

#include "support/program.hpp"
#include "tests/sim/execution/collectives/support.hpp"

using namespace pipewright;

TEST_CASE("comm bench prints the table of nccl-tests with a formula", "[comm_bench]") {
  const tests::CommandFolder place;
  place.write("c.xml", tests::platform_text({{4, 4}, 10}));
  const tests::ProgramResult ran =
      place.run("comm bench --cluster c.xml --op all-to-all --sizes 1M,1G --assume '10 GB/s'");
  CHECK(ran.err == "");
  CHECK(ran.status == 0);
  // Half of each rank's data goes to the other node over an uplink that four NICs share and that
  // has the bandwidth of one NIC.
  CHECK(ran.out ==
        "c.xml: all-to-all over 8 ranks on 2 nodes, simulated\n"
        "\n"
        "      size     count           time  algbw  busbw  formula   time over                  "
        "busbw over\n"
        "     bytes  elements  type       us   GB/s   GB/s       us  formula, %  algorithm       "
        "assumed, %\n"
        "   1048576     32768  float   214.7   4.88   4.27    57.43      +273.9  direct, Simple  "
        "     -57.3\n"
        "1073741824  33554432  float  214753   5.00   4.37    53692      +300.0  direct, Simple  "
        "     -56.3\n"
        "\n"
        "The formula (steps x latency + bytes / bandwidth of a GPU's own links) is up to 300.0 % "
        "too fast,\n"
        "at 1073741824 bytes: links are shared, or the route is narrower than its ends.\n"
        "An assumed bus bandwidth of 10 GB/s is right within 10 % at 0 of 2 sizes.\n");
}

TEST_CASE("comm bench writes logs, tables and JSON", "[comm_bench]") {
  const tests::CommandFolder place;
  place.write("c.xml", tests::platform_text({{4}}));
  const tests::ProgramResult ran = place.run(
      "comm bench --cluster c.xml --op broadcast --ranks 4 --sizes 8:8K:32 -o x.log x.csv x.json");
  CHECK(ran.status == 0);
  CHECK_THAT(place.read("x.log"), Catch::Contains("# broadcast_perf\n") &&
                                      Catch::Contains("#  Rank  3 Group  0 Pid      3 on node-0"));
  CHECK_THAT(place.read("x.csv"), Catch::Contains("\nbroadcast,4,1,1,8192,"));
  CHECK_THAT(place.read("x.json"), Catch::Contains("\"bytes\": 8192"));
  const tests::ProgramResult comparison =
      place.run("comm compare x.log --cluster c.xml --max-error 1%");
  CHECK(comparison.status == 0);
  CHECK_THAT(comparison.out, Catch::Contains("median error 0.0 %"));
}

TEST_CASE("comm bench sends the bytes of a matrix, and names the busiest rank", "[comm_bench]") {
  const tests::CommandFolder place;
  place.write("c.xml", tests::platform_text({{4}}));
  // Rank 3 receives most, 100 MB over a link of 100 GB/s; no rank sends more than 60 MB.
  place.write("m.csv",
              "0,10000000,20000000,30000000\n0,0,0,40000000\n5000000,0,0,30000000\n0,0,0,0\n");
  const tests::ProgramResult ran =
      place.run("comm bench --cluster c.xml --matrix m.csv -o x.json x.html x.log");
  CHECK(ran.err == "");
  CHECK_THAT(
      ran.out,
      Catch::StartsWith("c.xml: all-to-all of m.csv over 4 ranks on 1 node, simulated\n") &&
          Catch::Contains("60000000   3750000  float  1002.0  59.88  99.80") &&
          Catch::Contains("Rank 3 (node-0-gpu-3) is the busiest: it receives 166.7 % of the size "
                          "from other ranks,\n2.96 times the mean of all ranks.\n"));
  CHECK_THAT(place.read("x.json"),
             Catch::Contains("\"busiest_rank\": 3") && Catch::Contains("\"busiest_sends\": false"));
  CHECK_THAT(place.read("x.html"), Catch::Contains("all-to-all of m.csv over 4 ranks"));
  CHECK_THAT(place.read("x.log"), Catch::StartsWith("# alltoallv_perf\n"));
  // 600 MB is ten times the size of the matrix in the file, so all its entries are scaled by ten.
  CHECK_THAT(place.run("comm bench --cluster c.xml --matrix m.csv --sizes 600000000").out,
             Catch::Contains("10002"));
}

TEST_CASE("comm bench rejects invalid options with the allowed values", "[comm_bench]") {
  const tests::CommandFolder place;
  place.write("c.xml", tests::platform_text({{4}}));
  const auto check = [&](const std::string& arguments, const std::string& words) {
    const tests::ProgramResult ran = place.run("comm bench " + arguments);
    CHECK(ran.status == 2);
    CHECK(ran.out == "");
    CHECK_THAT(ran.err, Catch::Contains(words));
  };
  check("--ranks 4", "comm bench needs --cluster; give a FILE.xml");
  check("--cluster c.xml --ranks 5", "has too few GPUs for 5 ranks; it has 4 GPUs in 1 node");
  check("--cluster c.xml --ranks 0", "--ranks 0: must be at least 1");
  check("--cluster c.xml --ranks 4 --concurrent 2", "has too few GPUs for 8 ranks");
  check("--cluster c.xml --op scan",
        "--op 'scan': unknown operation; choose from all-reduce, all-gather");
  check("--cluster c.xml --op allreduce",
        "--op 'allreduce': unknown operation; did you mean 'all-reduce'? allowed: one of ");
  check("--cluster c.xml --op alltoall", "did you mean 'all-to-all'?");
  for (const std::string version : {"2.99", "3.1", "banana"})
    check("--cluster c.xml --nccl " + version,
          "--nccl '" + version + "' is unknown; allowed: a version of NCCL from 2.4 to 2.30");
  check("--cluster c.xml --algorithm best", "--algorithm 'best': automatic, ring, tree");
  check("--cluster c.xml --algorithm nvls", "cannot use switches inside nodes");
  check("--cluster c.xml --sizes 8:4", "the end is smaller than the start");
  check("--cluster c.xml --sizes 8:8K:1", "the factor is below 2");
  check("--cluster c.xml --sizes 9000T", "is above 1024 TiB");
  check("--cluster c.xml --sizes 4Q", "'4Q' is not a size");
  check("--cluster c.xml --assume 180", "a bus bandwidth such as 180 GB/s");
  check("--cluster c.xml -o x.svg", "must end in .html, .csv, .json or .log");
  place.write("m.csv", "0,4096\n1024,0\n");
  check("--cluster c.xml --op gather --matrix m.csv", "--matrix needs --op all-to-all, not gather");
  check("--cluster c.xml --ranks 3 --matrix m.csv", "--ranks 3: m.csv has 2 ranks");
  check("--cluster c.xml --matrix m.txt", "must end in .csv or .json");
  check("--cluster c.xml --matrix m.csv -o m.csv", "m.csv");
  place.write("m.csv", "0,1\n1\n");
  check("--cluster c.xml --matrix m.csv", "m.csv:2: 1 cell in this row, but 2 in the first");
  check("--cluster c.xml all-reduce",
        "--cluster of comm bench takes one cluster, not c.xml and all-reduce");
  check("all-reduce --cluster c.xml",
        "takes options alone, not 'all-reduce'; options begin with --");
}
