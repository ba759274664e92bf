#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/logs/logs.hpp"

namespace pipewright::analysis {

using namespace pipewright::test;

TEST_CASE("a file without a table says what was expected") {
  CHECK(fault_of("") == "1: the file is empty");
  CHECK(fault_of("hello\nworld\n").find("2: no line up to here") == 0);
  CHECK(fault_of("hello\nworld\n").find("algbw busbw") != std::string::npos);
  CHECK(fault_of(all_reduce_of_8).find("the table ends before its first row") != std::string::npos);
}

TEST_CASE("what is no text is refused") {
  CHECK(fault_of(std::string("\x89HDF\r\n\x1a\n\0\0", 10)).find("no text") != std::string::npos);
  CHECK(fault_of("\xFF\xFE#\n").find("1: is UTF-16 text") == 0);
  const ScratchFolder folder;
  CHECK_THROWS_WITH(read_one(folder.path()), Catch::Contains("is a folder"));
  CHECK_THROWS_WITH(read_one(folder / "missing.log"), Catch::Contains("missing.log: cannot open"));
}

TEST_CASE("rows without a time are left out, with a remark at the first of them") {
  std::string text = all_reduce_of_8 + nccl_row(1024, 20, 1.75);
  for (const std::string time : {"N/A", "nan", "-nan", "inf", "0.00", "1e999"})
    text += fmt::format("2048 512 float sum -1 {0} 0.00 0.00 0 {0} 0.00 0.00 0\n", time);
  const MeasurementLog log = read_text(text + nccl_row(4096, 21, 1.75));
  REQUIRE(log.rows.size() == 4);
  CHECK(log.rows[2].bytes == 4096);
  CHECK(remarked(log, 13, "12 rows, this one first, left out: no time (N/A, NaN, infinite or 0)"));
}

TEST_CASE("a table of which no row says a time is refused at its first row") {
  CHECK(fault_of(all_reduce_of_8 + "8 2 float sum -1 N/A N/A N/A N/A N/A N/A N/A N/A\n")
            .find("12: nothing to compare: 2 rows") == 0);
}

TEST_CASE("sizes and times that cannot be are errors at their line") {
  const std::string rest = " 20.00 0.05 0.09 0 20.00 0.05 0.09 0\n";
  CHECK(fault_of(all_reduce_of_8 + nccl_row(8, 20, 1.75) +
                 "99999999999999999999 24999999 float sum -1" + rest)
            .find("13: the size 99999999999999999999 is beyond 64 bits") == 0);
  CHECK(fault_of(all_reduce_of_8 + "18446744073709551616 1 float sum -1" + rest)
            .find("beyond 64 bits") != std::string::npos);
  CHECK(fault_of(all_reduce_of_8 + "-1024 256 float sum -1" + rest)
            .find("12: the size -1024 is below 0") == 0);
  CHECK(fault_of(all_reduce_of_8 + "1024 256 float sum -1 -20.00 0.05 0.09 0 20.00 0.05 0.09 0\n")
            .find("12: the time -20.00 is below 0") == 0);
}

TEST_CASE("prose with numbers among the rows of nccl-tests is no row") {
  const MeasurementLog log =
      read_text(all_reduce_of_8 + nccl_row(512, 20, 1.75) +
                "fi_getinfo: -61\nfi_getinfo: -61 (No data available)\nerror: -61 12 retries left\n"
                "NCCL INFO 12 34\npool: 99999999999999999999 12 bytes left\n" +
                nccl_row(1024, 20, 1.75));
  REQUIRE(log.rows.size() == 4);  // out of place and in place
  CHECK(log.rows[2].bytes == 1024);
}

TEST_CASE(
    "a row that is cut short or mixed with other text is left out, and half a row is half used") {
  const std::string row = nccl_row(1024, 20, 1.75);
  const MeasurementLog log =
      read_text(all_reduce_of_8 + nccl_row(512, 20, 1.75) +
                "  1024   256  float sum  -1node1:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 3[3]\n" +
                row.substr(0, row.size() - 20) + "\n");
  REQUIRE(log.rows.size() == 3);
  CHECK(log.rows[2].bytes == 1024);
  CHECK_FALSE(log.rows[2].in_place);
  CHECK(remarked(log, 13, "left out: cut short or mixed"));
  CHECK(remarked(log, 14, "cut short: what it says in place is left out"));
}

TEST_CASE("a row whose rate is not size over time is damaged") {
  const MeasurementLog log = read_text(all_reduce_of_8 + nccl_row(1 << 20, 50, 1.75) +
                                       "2097152 524288 float sum -1 90.00 11.65 20.39 0 "
                                       "90.00 23.30 40.78 0\n");
  REQUIRE(log.rows.size() == 3);
  CHECK(log.rows[2].in_place);
  CHECK(remarked(log, 13, "its algbw is not size / time"));
}

TEST_CASE("times that fall while sizes grow are kept, with a remark at the deepest fall") {
  const MeasurementLog log =
      read_text(all_reduce_of_8 + nccl_row(1024, 40, 1.75) + nccl_row(2048, 38, 1.75) +
                nccl_row(4096, 19, 1.75) + nccl_row(8192, 18.9, 1.75));
  CHECK(log.rows.size() == 8);
  REQUIRE(log.remarks.size() == 1);
  CHECK(log.remarks[0].line == 14);
  CHECK(log.remarks[0].text ==
        "4096 B take 19.0 us, less than 2048 B with 38.0 us; the deepest of 4 such falls of this "
        "table");
}

TEST_CASE("rows of runs that write at the same time are not taken for one run's") {
  const std::string mixed = nccl_row(1024, 20, 1.75) + nccl_row(2048, 20, 1.75) +
                            nccl_row(4096, 20, 1.75) + nccl_row(2048, 20, 1.75) +
                            nccl_row(8192, 20, 1.75);
  CHECK(fault_of(all_reduce_of_8 + mixed).find("15: 2048 B after 4096 B: rows of several runs") ==
        0);
  // Both begin, with the same ranks; then their rows come one by one.
  const std::string both =
      "# all_reduce_perf -b 8\n" + nccl_ranks(8) + nccl_ranks(8) + nccl_header + nccl_header;
  const std::string twice = nccl_row(1024, 20, 1.75) + nccl_row(1024, 20, 1.75);
  CHECK(fault_of(both + twice).find("23: 1024 B after 1024 B: rows of several runs") == 0);
  // A run that failed before its table, and its repetition, are no mixture.
  CHECK(read_text(all_reduce_of_8.substr(0, all_reduce_of_8.size() - nccl_header.size()) +
                  all_reduce_of_8 + twice)
            .rows.size() == 4);
}

TEST_CASE("runs of one rank, of the CPU's time, or of other programs are not compared") {
  const std::string single = "# all_reduce_perf -b 8\n" + nccl_ranks(1) + nccl_header;
  CHECK(fault_of(single + nccl_row(1 << 20, 5, 0)).find("it is of one rank") != std::string::npos);
  CHECK(fault_of("# all_reduce_perf -b 8\n" + nccl_ranks(8) +
                 "# size count type redop root cputime algbw busbw #wrong\n" +
                 "1048576 262144 float sum -1 3.00 20.00 35.00 0\n")
            .find("times are the CPU's (-C)") != std::string::npos);
  CHECK(fault_of("# hypercube_perf -b 8\n" + nccl_ranks(8) + nccl_header +
                 nccl_row(1 << 20, 50, 0.875, 8))
            .find("is of an operation that is predicted") != std::string::npos);
}

TEST_CASE("a table that says too little is left out where others are usable") {
  const std::string good =
      all_reduce_of_8 + nccl_row(1 << 20, 50, 1.75) + "# Avg bus bandwidth : 1\n";
  const std::string bad =
      nccl_header + "1048576 131072 half none -1 50.00 20.97 15.73 N/A 50.00 20.97 15.73 N/A\n";
  const MeasurementLog log = read_text(good + bad);
  CHECK(log.rows.size() == 2);
  CHECK(remarked(log, 14, "the table is left out: no line says which operation"));
}

TEST_CASE("aggregated, blocking and wrong runs are remarked") {
  const MeasurementLog log = read_text(
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) agg iters: 4 validation: 1\n"
      "# Blocking Enabled: wait for completion and barrier after each collective \n" +
      nccl_header + "1048576 262144 float sum -1 50.00 20.97 36.70 7 50.00 20.97 36.70 0\n");
  CHECK(log.rows.size() == 2);
  CHECK(remarked(log, 4, "4 operations at a time are one launch (-m)"));
  CHECK(remarked(log, 4, "(-z)"));
  CHECK(remarked(log, 5, "had wrong results"));
}

TEST_CASE("an endless line is skipped") {
  const std::string endless(5'000'000, 'x');
  const MeasurementLog log = read_text(endless + "\n" + all_reduce_of_8 + nccl_row(1024, 20, 1.75) +
                                       std::string(100'000, '7'));
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].line == 13);
}

TEST_CASE("of several files each keeps its name, and one that is bad is named") {
  const ScratchFolder folder;
  write_bytes(folder / "1.log", all_reduce_of_8 + nccl_row(1024, 20, 1.75));
  write_bytes(folder / "2.log", all_reduce_of_8 + nccl_row(2048, 20, 1.75));
  write_bytes(folder / "3.log", "nothing\n");
  const std::vector<std::filesystem::path> two{folder / "2.log", folder / "1.log"};
  const MeasurementLog log = read_logs(two);
  REQUIRE(log.rows.size() == 4);
  CHECK(log.rows[0].file == two[0].string());
  CHECK(log.rows[0].bytes == 2048);
  CHECK(log.rows[2].file == two[1].string());
  const std::vector<std::filesystem::path> three{folder / "1.log", folder / "3.log"};
  CHECK_THROWS_WITH(read_logs(three), Catch::Contains("3.log:1: no line"));
}

}  // namespace pipewright::analysis
