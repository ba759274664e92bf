#include <catch2/catch.hpp>

#include "tests/analysis/commlogs/logs/logs.hpp"

namespace pipewright::analysis {

using namespace pipewright::test;

TEST_CASE("the error of a file without a table names the expected formats") {
  CHECK(log_error("") == "1: the file is empty");
  CHECK(log_error("hello\nworld\n").find("2: no table found up to here") == 0);
  CHECK(log_error("hello\nworld\n").find("algbw busbw") != std::string::npos);
  CHECK(log_error(all_reduce_of_8).find("the table ends before its first row") !=
        std::string::npos);
}

TEST_CASE("a file that is not text is refused") {
  CHECK(log_error(std::string("\x89HDF\r\n\x1a\n\0\0", 10)).find("not text") != std::string::npos);
  // A line of zero bytes is refused before its end, since a device such as /dev/zero has no ends.
  CHECK(log_error(std::string(100'000, '\0')).find("1: the line has bytes that are not text") == 0);
  CHECK(log_error(std::string(100'000, 'x') + std::string(10'000, '\0')).find("not text") !=
        std::string::npos);
  CHECK_THROWS_WITH(read_log("/dev/zero"), Catch::Contains("/dev/zero:1: the line has bytes"));
  CHECK(log_error("\xFF\xFE#\n").find("1: the file is UTF-16 text") == 0);
  const ScratchFolder folder;
  CHECK_THROWS_WITH(read_log(folder.path()), Catch::Contains("is a folder"));
  CHECK_THROWS_WITH(read_log(folder / "missing.log"), Catch::Contains("missing.log: cannot open"));
}

TEST_CASE("rows without a time are left out, with a remark at the first one") {
  std::string text = all_reduce_of_8 + nccl_row(1024, 20, 1.75);
  for (const std::string time : {"N/A", "nan", "-nan", "inf", "0.00", "1e999"})
    text += fmt::format("2048 512 float sum -1 {0} 0.00 0.00 0 {0} 0.00 0.00 0\n", time);
  const MeasurementLog log = read_text(text + nccl_row(4096, 21, 1.75));
  REQUIRE(log.rows.size() == 4);
  CHECK(log.rows[2].bytes == 4096);
  CHECK(remarked(log, 13, "12 rows, first this one: left out (no time: N/A, NaN, infinite or 0)"));
}

TEST_CASE("a table without any time is refused at its first row") {
  CHECK(log_error(all_reduce_of_8 + "8 2 float sum -1 N/A N/A N/A N/A N/A N/A N/A N/A\n")
            .find("12: nothing to compare: 2 rows") == 0);
}

TEST_CASE("impossible sizes and times are errors at their line") {
  const std::string rest = " 20.00 0.05 0.09 0 20.00 0.05 0.09 0\n";
  CHECK(log_error(all_reduce_of_8 + nccl_row(8, 20, 1.75) +
                  "99999999999999999999 24999999 float sum -1" + rest)
            .find("13: the size 99999999999999999999 is beyond 64 bits") == 0);
  CHECK(log_error(all_reduce_of_8 + "18446744073709551616 1 float sum -1" + rest)
            .find("beyond 64 bits") != std::string::npos);
  CHECK(log_error(all_reduce_of_8 + "-1024 256 float sum -1" + rest)
            .find("12: the size -1024 is below 0") == 0);
  CHECK(log_error(all_reduce_of_8 + "1024 256 float sum -1 -20.00 0.05 0.09 0 20.00 0.05 0.09 0\n")
            .find("12: the time -20.00 is below 0") == 0);
}

TEST_CASE("prose with numbers between the rows of nccl-tests is ignored") {
  const MeasurementLog log =
      read_text(all_reduce_of_8 + nccl_row(512, 20, 1.75) +
                "fi_getinfo: -61\nfi_getinfo: -61 (No data available)\nerror: -61 12 retries left\n"
                "NCCL INFO 12 34\npool: 99999999999999999999 12 bytes left\n" +
                nccl_row(1024, 20, 1.75));
  REQUIRE(log.rows.size() == 4);  // Out of place and in place.
  CHECK(log.rows[2].bytes == 1024);
}

TEST_CASE("a row mixed with other text is left out, and half a row is used in part") {
  const std::string row = nccl_row(1024, 20, 1.75);
  const MeasurementLog log =
      read_text(all_reduce_of_8 + nccl_row(512, 20, 1.75) +
                "  1024   256  float sum  -1node1:1:2 [0] NCCL INFO Channel 00/0 : 1[1] -> 3[3]\n" +
                row.substr(0, row.size() - 20) + "\n");
  REQUIRE(log.rows.size() == 3);
  CHECK(log.rows[2].bytes == 1024);
  CHECK_FALSE(log.rows[2].in_place);
  CHECK(remarked(log, 13, "left out (cut short or mixed"));
  CHECK(remarked(log, 14, "in-place times left out (cut short)"));
}

TEST_CASE("a row whose rate is not size over time is left out") {
  const MeasurementLog log = read_text(all_reduce_of_8 + nccl_row(1 << 20, 50, 1.75) +
                                       "2097152 524288 float sum -1 90.00 11.65 20.39 0 "
                                       "90.00 23.30 40.78 0\n");
  REQUIRE(log.rows.size() == 3);
  CHECK(log.rows[2].in_place);
  CHECK(remarked(log, 13, "left out (algbw is not size / time)"));
}

TEST_CASE("times that drop while sizes grow are used, with a remark at the largest drop") {
  const MeasurementLog log =
      read_text(all_reduce_of_8 + nccl_row(1024, 40, 1.75) + nccl_row(2048, 38, 1.75) +
                nccl_row(4096, 19, 1.75) + nccl_row(8192, 18.9, 1.75));
  CHECK(log.rows.size() == 8);
  REQUIRE(log.remarks.size() == 1);
  CHECK(log.remarks[0].line == 14);
  CHECK(log.remarks[0].text ==
        "4096 B take 19.0 us, but 2048 B take 38.0 us; the largest of 4 such drops in this "
        "table");
}

TEST_CASE("mixed rows of several runs are refused") {
  const std::string mixed = nccl_row(1024, 20, 1.75) + nccl_row(2048, 20, 1.75) +
                            nccl_row(4096, 20, 1.75) + nccl_row(2048, 20, 1.75) +
                            nccl_row(8192, 20, 1.75);
  CHECK(log_error(all_reduce_of_8 + mixed).find("15: 2048 B after 4096 B: rows of several runs") ==
        0);
  // A log into which two runs wrote at once: it begins with the ranks of both, then rows of the two
  // runs alternate.
  const std::string interleaved =
      "# all_reduce_perf -b 8\n" + nccl_ranks(8) + nccl_ranks(8) + nccl_header + nccl_header;
  const std::string rows_of_both = nccl_row(1024, 20, 1.75) + nccl_row(1024, 20, 1.75);
  CHECK(
      log_error(interleaved + rows_of_both).find("23: 1024 B after 1024 B: rows of several runs") ==
      0);
  // A log in which a run failed before its table and was then repeated is valid.
  CHECK(read_text(all_reduce_of_8.substr(0, all_reduce_of_8.size() - nccl_header.size()) +
                  all_reduce_of_8 + rows_of_both)
            .rows.size() == 4);
}

TEST_CASE("runs of one rank, with CPU times or of unpredicted programs are not compared") {
  const std::string single = "# all_reduce_perf -b 8\n" + nccl_ranks(1) + nccl_header;
  CHECK(log_error(single + nccl_row(1 << 20, 5, 0)).find("a single rank sends nothing") !=
        std::string::npos);
  CHECK(log_error("# all_reduce_perf -b 8\n" + nccl_ranks(8) +
                  "# size count type redop root cputime algbw busbw #wrong\n" +
                  "1048576 262144 float sum -1 3.00 20.00 35.00 0\n")
            .find("its times are CPU times (-C)") != std::string::npos);
  CHECK(log_error("# hypercube_perf -b 8\n" + nccl_ranks(8) + nccl_header +
                  nccl_row(1 << 20, 50, 0.875, 8))
            .find("measures an operation that can be predicted") != std::string::npos);
}

TEST_CASE("an incomplete table is left out if others are usable") {
  const std::string good =
      all_reduce_of_8 + nccl_row(1 << 20, 50, 1.75) + "# Avg bus bandwidth : 1\n";
  const std::string bad =
      nccl_header + "1048576 131072 half none -1 50.00 20.97 15.73 N/A 50.00 20.97 15.73 N/A\n";
  const MeasurementLog log = read_text(good + bad);
  CHECK(log.rows.size() == 2);
  CHECK(remarked(log, 14, "the table is left out: the log does not name the operation"));
}

TEST_CASE("aggregated, blocking and wrong runs get remarks") {
  const MeasurementLog log = read_text(
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) agg iters: 4 validation: 1\n"
      "# Blocking Enabled: wait for completion and barrier after each collective \n" +
      nccl_header + "1048576 262144 float sum -1 50.00 20.97 36.70 7 50.00 20.97 36.70 0\n");
  CHECK(log.rows.size() == 2);
  CHECK(remarked(log, 4, "4 operations share one launch (-m)"));
  CHECK(remarked(log, 4, "(-z)"));
  CHECK(remarked(log, 5, "wrong results (#wrong)"));
}

TEST_CASE("an endless line is skipped") {
  const std::string endless(5'000'000, 'x');
  const MeasurementLog log = read_text(endless + "\n" + all_reduce_of_8 + nccl_row(1024, 20, 1.75) +
                                       std::string(100'000, '7'));
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].line == 13);
}

TEST_CASE("rows name their file, and so does the error of a bad file") {
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
  CHECK_THROWS_WITH(read_logs(three), Catch::Contains("3.log:1: no table found"));
}

}  // namespace pipewright::analysis
