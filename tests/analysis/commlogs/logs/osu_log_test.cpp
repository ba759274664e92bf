#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/logs/logs.hpp"

namespace pipewright::analysis {

using namespace pipewright::test;

TEST_CASE("OSU collectives are read with the ranks of their commands") {
  const MeasurementLog log = read_sample("osu_collectives.log");
  REQUIRE(log.rows.size() == 7);
  for (const Measurement& row : log.rows) {
    CHECK(row.ranks == 8);
    CHECK(row.nodes == 2);
    CHECK_FALSE(row.in_place);
  }
  CHECK(log.rows[0].operation == Operation::all_reduce);
  CHECK(log.rows[0].bytes == 4);
  CHECK(log.rows[0].seconds == Approx(30e-6));
  CHECK(log.rows[3].bytes == 16777216);
  CHECK(log.rows[3].seconds == Approx(868.86e-6));
  CHECK(log.rows[3].line == 9);
  // The size that osu_alltoall prints is what a rank sends to one other rank.
  CHECK(log.rows[4].operation == Operation::all_to_all);
  CHECK(log.rows[4].bytes == 8);
  CHECK(log.rows[6].bytes == 8 * 262144);
  CHECK(remarked(log, 15, "multiplied by 8 ranks"));
}

TEST_CASE(
    "OSU latency is that of a send-recv, and OSU bandwidths give the times of large messages") {
  const MeasurementLog log = read_sample("osu_two_ranks.log");
  REQUIRE(log.rows.size() == 5);
  CHECK(log.rows[0].operation == Operation::send_recv);
  CHECK(log.rows[0].ranks == 2);
  CHECK(log.rows[0].nodes == 2);
  CHECK(log.rows[0].bytes == 1);
  CHECK(log.rows[0].seconds == Approx(5e-6));
  CHECK(log.rows[3].operation == Operation::pairwise);
  CHECK(log.rows[3].bytes == 1048576);
  CHECK(log.rows[3].seconds == Approx(2 * 1048576 / 39844.36e6));
  CHECK(remarked(log, 5, "(0 bytes)"));
  CHECK(remarked(log, 13, "2 rows, first this one: left out (64 messages in flight"));
}

TEST_CASE("a bandwidth in one direction gives the time of one message") {
  const MeasurementLog log = read_text(
      "# OSU MPI-CUDA Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n"
      "524288 9972.14\n1048576 10000.00\n");
  REQUIRE(log.rows.size() == 1);
  CHECK(log.rows[0].operation == Operation::send_recv);
  CHECK(log.rows[0].seconds == Approx(104.8576e-6));
  CHECK(log.rows[0].nodes == 0);
  CHECK(remarked(log, 2, "the log does not say whether both ranks are on one node"));
}

TEST_CASE("sizes of OSU collectives count the buffer or one rank's part") {
  const auto bytes = [](const std::string& name) {
    return read_text(
               "# OSU MPI-CUDA " + name + " Latency Test v7.4\n# Size Avg Latency(us)\n64 9.5\n",
               {.ranks = 4})
        .rows.at(0)
        .bytes;
  };
  CHECK(bytes("Allreduce") == 64);
  CHECK(bytes("Broadcast") == 64);
  CHECK(bytes("Reduce") == 64);
  CHECK(bytes("Reduce_scatter") == 64);
  CHECK(bytes("Gather") == 256);
  CHECK(bytes("Scatter") == 256);
  CHECK(bytes("Allgather") == 256);
  CHECK(bytes("All-to-All Personalized Exchange") == 256);
}

TEST_CASE("OSU tables without ranks, of unpredicted tests or with impossible sizes are errors") {
  const std::string title = "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size Avg Latency(us)\n";
  CHECK(log_error(title + "64 9.5\n").find("2: osu_allreduce does not print its number of ranks") ==
        0);
  CHECK(log_error("# OSU MPI Non-blocking Allreduce Latency Test v7.4\n"
                  "# Size Overall(us) Compute(us) Pure Comm.(us) Overlap(%)\n64 9.5 4 5 50\n",
                  {.ranks = 4})
            .find("no table up to here measures an operation that can be predicted") !=
        std::string::npos);
  CHECK(log_error(title + "18446744073709551616 9.5\n", {.ranks = 4}).find("3: the size") == 0);
  CHECK(log_error(title + "-4 9.5\n", {.ranks = 4}).find("3: the size -4 is below 0") == 0);
  CHECK(log_error("# OSU MPI-CUDA Allgather Latency Test v7.4\n# Size Avg Latency(us)\n"
                  "9223372036854775808 9.5\n",
                  {.ranks = 4})
            .find("3: the size 9223372036854775808 x 4 ranks is beyond 64 bits") == 0);
  CHECK(log_error(title + "64 nan\n128 0.00\n", {.ranks = 4}).find("no time") != std::string::npos);
  CHECK(log_error("# Size Avg Latency(us)\n64 9.5\n")
            .find("1: the log does not name the benchmark") == 0);
}

TEST_CASE("prose with numbers between OSU rows is ignored") {
  const MeasurementLog log = read_text(
      "# OSU MPI-CUDA Allreduce Latency Test v7.4\n# Size Avg Latency(us)\n"
      "fi_getinfo: -61 (No data available)\nfi_getinfo: -61 12 34\n64 9.5\n"
      "retries: 12 -1\npid: 99999999999999999999 5 6\nNCCL INFO channels: 12 34 56\n128 10.5\n",
      {.ranks = 4});
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].bytes == 64);
  CHECK(log.rows[1].seconds == Approx(10.5e-6));
  CHECK_FALSE(remarked(log, 3, ""));
}

TEST_CASE("a table without a title belongs to the program in the command") {
  const MeasurementLog log = read_text(
      "mpirun -np 16 -H a:8,b:8 ./osu_xccl_allreduce -d cuda\n# Size Avg Latency(us)\n64 9.5\n");
  CHECK(log.rows.at(0).operation == Operation::all_reduce);
  CHECK(log.rows.at(0).ranks == 16);
  CHECK(log.rows.at(0).nodes == 2);
}

TEST_CASE("buffers in host memory get a remark") {
  const std::string rows = "# Size Latency (us)\n64 9.5\n";
  CHECK(remarked(read_text("# OSU MPI Latency Test v5.8\n" + rows), 2, "host memory"));
  CHECK(
      remarked(read_text("# OSU MPI-CUDA Latency Test v5.8\n# Send Buffer on HOST (H) and Receive "
                         "Buffer on HOST (H)\n" +
                         rows),
               3, "host memory"));
  CHECK_FALSE(remarked(read_text("# OSU MPI-CUDA Latency Test v5.8\n" + rows), 2, "host memory"));
}

}  // namespace pipewright::analysis
