#include <cstdlib>
#include <thread>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "tests/analysis/commlogs/logs/logs.hpp"

namespace pipewright::analysis {

using namespace pipewright::test;

TEST_CASE(
    "a run with prefixes of mpirun and debug lines of NCCL is read with its ranks and nodes") {
  const MeasurementLog log = read_sample("all_reduce_mpirun.log");
  CHECK(log.remarks.empty());
  REQUIRE(log.rows.size() == 20);
  for (const Measurement& row : log.rows) {
    CHECK(row.operation == Operation::all_reduce);
    CHECK(row.ranks == 4);
    CHECK(row.nodes == 2);
    CHECK(row.type == "float");
  }
  CHECK(log.rows[0].bytes == 8);
  CHECK(log.rows[0].seconds == Approx(28e-6));
  CHECK_FALSE(log.rows[0].in_place);
  CHECK(log.rows[0].line == 17);
  CHECK(log.rows[1].bytes == 8);
  CHECK(log.rows[1].seconds == Approx(28.5e-6));
  CHECK(log.rows[1].in_place);
  CHECK(log.rows[9].line == 22);  // A line of NCCL is between the fourth row
  CHECK(log.rows[7].line == 20);  // and the fifth.
  CHECK(log.rows[19].bytes == 1073741824);
}

TEST_CASE("each program of a file has its own operation") {
  const MeasurementLog log = read_sample("six_programs.log");
  const std::vector<std::pair<Operation, std::size_t>> expected{
      {Operation::all_gather, 12}, {Operation::reduce_scatter, 12}, {Operation::all_to_all, 12},
      {Operation::broadcast, 14},  {Operation::send_recv, 14},      {Operation::reduce, 14}};
  std::size_t row = 0;
  for (const auto& [operation, count] : expected)
    for (std::size_t i = 0; i < count; ++i, ++row) {
      REQUIRE(row < log.rows.size());
      CHECK(log.rows[row].operation == operation);
      CHECK(log.rows[row].ranks == 8);
      CHECK(log.rows[row].nodes == 1);
    }
  CHECK(row == log.rows.size());
  CHECK(remarked(log, 18, "(0 bytes)"));
}

TEST_CASE("tables of 2018 have milliseconds and rates of the bytes that move") {
  const MeasurementLog log = read_sample("all_gather_2018.log");
  REQUIRE(log.rows.size() == 6);
  CHECK(log.rows[0].operation == Operation::all_gather);
  CHECK(log.rows[0].ranks == 4);
  CHECK(log.rows[0].nodes == 1);
  CHECK(log.rows[0].bytes == 65536);
  CHECK(log.rows[0].seconds == Approx(47e-6));
  CHECK(log.rows[5].seconds == Approx(146e-6));
  CHECK(log.remarks.empty());
}

TEST_CASE("time stamps, labels, colours and Windows line ends are not part of a row") {
  const MeasurementLog log = read_sample("stamped_2020.log");
  REQUIRE(log.rows.size() == 10);
  CHECK(log.rows[0].operation == Operation::all_reduce);
  CHECK(log.rows[0].bytes == 1048576);
  CHECK(log.rows[0].ranks == 16);
  CHECK(log.rows[0].nodes == 0);
  CHECK(remarked(log, 2, "inferred all-reduce from columns and rates"));
  CHECK(remarked(log, 2, "16 ranks, inferred from the table's rates or counts"));
}

TEST_CASE("prefixes of log collectors are ignored") {
  const std::string plain = all_reduce_of_8 + nccl_row(1024, 20, 1.75) + nccl_row(2048, 21, 1.75);
  for (const std::string prefix :
       {"> ", "    ", "\t", "| ", "0: ", " 12: ", "[1,0]<stdout>:", "[1,0]<stdout>: ",
        "worker-0 | ", "[pod/launcher-x7/main] ", "2024-05-01 10:00:00 ", "[2024-05-01 10:00:00] ",
        "10:00:00.123: ", "launcher-0: ", "2024-05-01T10:00:00.1234567Z [1,0]<stdout>:",
        "run(), common.cu:967, "}) {
    CAPTURE(prefix);
    std::string text = prefix;
    for (const char c : plain) text += c == '\n' ? "\n" + prefix : std::string(1, c);
    const MeasurementLog log = read_text(text);
    REQUIRE(log.rows.size() == 4);
    CHECK(log.rows[2].bytes == 2048);
    CHECK(log.rows[2].seconds == Approx(21e-6));
    CHECK(log.rows[2].ranks == 8);
    CHECK(log.rows[2].nodes == 1);
    CHECK(log.rows[2].line == 13);
    CHECK(log.remarks.empty());
  }
}

TEST_CASE("a row is read whose pieces have the tag of their rank") {
  // Each rank's output is cut where the rank flushes: behind the columns of a row, and behind the
  // times out of place.
  for (const std::string tag : {"[0]", "[0] ", "[rank0]: ", "[1,0]<stdout>:", "0: ", "worker-0: ",
                                "node-1: ", "node-1:1234:1250 [0] "}) {
    CAPTURE(tag);
    std::string text;
    for (const char c : all_reduce_of_8) text += c == '\n' ? "\n" + tag : std::string(1, c);
    text = tag + text + "1048576 262144 float sum -1" + tag + " 50.00 20.97 36.70 0" + tag +
           " 52.00 20.16 35.29 0\n" + tag + "2097152 524288 float sum -1" + tag +
           " 80.00 26.21 45.88 0" + tag + " 82.00 25.58 44.76 0\n";
    const MeasurementLog log = read_text(text);
    REQUIRE(log.rows.size() == 4);
    CHECK(log.rows[0].bytes == 1048576);
    CHECK(log.rows[0].seconds == Approx(50e-6));
    CHECK(log.rows[1].in_place);
    CHECK(log.rows[1].seconds == Approx(52e-6));
    CHECK(log.rows[3].seconds == Approx(82e-6));
    CHECK(log.rows[3].line == 13);
    CHECK(log.rows[3].ranks == 8);
    CHECK(log.remarks.empty());
  }
}

TEST_CASE("pieces of other ranks between those of a row are not part of it") {
  std::string text;
  for (const char c : all_reduce_of_8) text += c == '\n' ? "\n[0] " : std::string(1, c);
  text = "[0] " + text +
         "1048576 262144 float sum -1[3] node-0:12:13 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[4]\n"
         "[7] 17 requests are open\n"
         "[0] 50.00 20.97 36.70 0[5] a warning\n"
         "[0] 52.00 20.16 35.29 0\n"
         "[0] 2097152 524288 float sum -1 80.00 26.21 45.88 0 82.00 25.58 44.76 0\n";
  const MeasurementLog log = read_text(text);
  REQUIRE(log.rows.size() == 4);
  CHECK(log.rows[0].seconds == Approx(50e-6));
  CHECK(log.rows[1].seconds == Approx(52e-6));
  CHECK(log.rows[2].bytes == 2097152);
  CHECK(log.remarks.empty());
}

TEST_CASE("a row of which a tagged piece is missing is left out, and so is the next row") {
  const std::string times = " 80.00 26.21 45.88 0 82.00 25.58 44.76 0\n";
  const MeasurementLog log = read_text(
      all_reduce_of_8 + "[0] 1048576 262144 float sum -1[1] an error\n" +
      "[0] 2097152 524288 float sum -1" + times + "[0] 2097152 524288 float sum -1" + times);
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].line == 14);
  CHECK(remarked(log, 13, "left out (cut short or mixed with other text)"));
}

TEST_CASE("the GPUs of the measured ranks are named once for each file") {
  std::string text =
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) iters: 20\n";
  for (int i = 0; i < 8; ++i)
    text += fmt::format(
        "#  Rank {0:2} Group  0 Pid {0:6} on   host0 device {0:2} [0000:0{0}:00] NVIDIA H100 80GB "
        "HBM3\n",
        i);
  const MeasurementLog log = read_text(text + nccl_header + nccl_row(1024, 20, 1.75));
  REQUIRE(log.gpus.size() == 1);
  CHECK(log.gpus[0].name == "NVIDIA H100 80GB HBM3");
  CHECK(log.gpus[0].line == 11);
  const MeasurementLog json = read_sample("all_gather.json");
  REQUIRE(json.gpus.size() == 1);
  CHECK(json.gpus[0].name == "Imaginary GPU");
}

TEST_CASE("trimmed columns and separators of digits are understood") {
  const MeasurementLog log = read_text(
      "$ ./build/all_reduce_perf -b 32k -e 16G -f 2 -g 8\n"
      "[...]\n"
      "        size    time   algbw   busbw\n"
      "         (B)    (us)  (GB/s)  (GB/s)\n"
      "   1_048_576   101.9   10.29   18.01\n"
      "1,073,741,824  8203.9  130.88  229.04\n");
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].bytes == 1048576);
  CHECK(log.rows[1].bytes == 1073741824);
  CHECK(log.rows[1].ranks == 8);
  CHECK(log.rows[1].type.empty());
}

TEST_CASE("the line above a table with one block decides if its times are in place") {
  const std::string header = "# size count type redop root time algbw busbw #wrong\n";
  const std::string row = "1024 256 float sum -1 20.00 0.05 0.09 0\n";
  const std::string ranks = "# all_reduce_perf -b 8\n" + nccl_ranks(8);
  CHECK_FALSE(read_text(ranks + header + row).rows.at(0).in_place);
  CHECK(read_text(ranks + "#        in-place\n" + header + row).rows.at(0).in_place);
}

TEST_CASE("columns of single iterations and time stamps are ignored") {
  const MeasurementLog log =
      read_text("# all_reduce_perf -b 8 -I 1 -S 1\n" + nccl_ranks(8) +
                "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% "
                "time algbw busbw #wrong i_min i_max i_p99 i_cv%  timestamp\n"
                "1024 256 float sum -1 20.00 0.05 0.09 0 19.00 23.00 23.00 4.10 "
                "21.00 0.05 0.09 0 20.00 24.00 24.00 4.20 2025-11-01 10:00:00\n");
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].seconds == Approx(20e-6));
  CHECK(log.rows[1].seconds == Approx(21e-6));
  CHECK(log.rows[1].in_place);
}

TEST_CASE("a log that is packed by gzip or comes through a pipe is read") {
  const ScratchFolder folder;
  const std::string text = all_reduce_of_8 + nccl_row(1024, 20, 1.75);
  write_bytes(folder / "a.log", text);
  const std::string packed = (folder / "a.log").string() + ".gz";
  REQUIRE(std::system(("gzip -k '" + (folder / "a.log").string() + "'").c_str()) == 0);
  CHECK(read_log(packed).rows.size() == 2);
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] { write_bytes(pipe, text); });
  const std::size_t rows = read_log(pipe).rows.size();
  writer.join();
  CHECK(rows == 2);
}

TEST_CASE("all rows of repeated cycles are read") {
  std::string text = all_reduce_of_8;
  for (const int cycle : {0, 1})
    for (const std::uint64_t bytes : {1024, 2048, 4096}) text += nccl_row(bytes, 20 + cycle, 1.75);
  const MeasurementLog log = read_text(text);
  CHECK(log.rows.size() == 12);
  CHECK(log.remarks.empty());
}

TEST_CASE("times and bandwidths are read with any number of digits") {
  const MeasurementLog log =
      read_text(all_reduce_of_8 +
                "8589934592 2147483648 float sum -1 23563 364.55 637.96 0 2.4e+04 357.9 626.3 0 "
                "2025-11-01 10:00:00\n");
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].seconds == Approx(0.023563));
  CHECK(log.rows[1].seconds == Approx(0.024));
}

}  // namespace pipewright::analysis
