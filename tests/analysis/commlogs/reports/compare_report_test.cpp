#include "analysis/commlogs/reports/compare_report.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/commlogs/reports/compare_tables.hpp"
#include "tests/analysis/commlogs/compared.hpp"

namespace pipewright::analysis {
namespace {

using test::compared;
using Rows = std::vector<ComparedRow>;

// Returns rows of 1 KiB, 2 KiB, 4 KiB, ..., each measured at 100 us.
Rows rows_with_errors(const std::vector<double>& errors) {
  Rows rows;
  for (std::size_t i = 0; i < errors.size(); ++i)
    rows.push_back(compared(std::uint64_t{1024} << i, 100, 100 * (1 + errors[i])));
  return rows;
}

long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

TEST_CASE("predictions that nearly all err to one side are a finding", "[comm]") {
  const auto findings = [](const std::vector<double>& errors) {
    return compare_report("cluster", rows_with_errors(errors)).one_sided;
  };
  const auto one_sided = findings({-0.2, -0.3, -0.25, -0.1, -0.4});
  REQUIRE(one_sided.size() == 1);
  CHECK(one_sided[0].sizes.empty());
  CHECK(one_sided[0].bias == Approx(-0.25));
  CHECK(one_sided[0].rows == 5);
  CHECK(findings({0.2, 0.3, 0.25, 0.1, 0.4}).at(0).bias == Approx(0.25));
  CHECK(findings({-0.2, -0.3, 0.25, -0.1, 0.4}).empty());
  CHECK(findings({-0.05, -0.06, -0.04, -0.05, -0.07}).empty());
  CHECK(findings({-0.5, -0.5, -0.5}).empty());
  // An error is reported as one-sided if nine of ten rows deviate in the same direction.
  CHECK(findings({-0.2, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2, 0.1}).at(0).rows == 9);
  CHECK(findings({-0.2, 0.1, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2, 0.1, -0.2}).empty());
}

TEST_CASE("size ranges with different errors have findings of their own", "[comm]") {
  // Predicted times are too short for 1 KiB to 64 KiB, and too long for 128 KiB to 2 MiB.
  const CompareReport report = compare_report(
      "cluster", rows_with_errors({-0.3, -0.3, -0.3, -0.3, -0.3, -0.3, -0.3, 0.2, 0.2, 0.2, 0.2}));
  REQUIRE(report.one_sided.size() == 2);
  CHECK(report.one_sided[0].sizes == report.by_size[0].name);
  CHECK(report.one_sided[0].row_count == 7);
  CHECK(report.one_sided[1].bias == Approx(0.2));
  const std::string text = console_text(report);
  CHECK_THAT(text, Catch::Contains("up to 64 KiB: predicted times are 30.0 % too short (median; 7 "
                                   "of 7 rows err this way)\n"));
  CHECK_THAT(text, Catch::Contains("predicted times are 20.0 % too long (median; 4 of 4"));
}

TEST_CASE("the console text of a comparison has rows, errors by size and the assumption",
          "[comm]") {
  Rows rows{compared(1024, 50, 40), compared(1 << 20, 100, 110), compared(1 << 30, 12345, 12345)};
  rows[1].held_out = true;
  CHECK(console_text(compare_report("dgx", rows, 100e9)) ==
        "all-reduce, 16 ranks on 2 nodes\n"
        "                                   measured  predicted\n"
        "       measured  predicted  error     busbw      busbw\n"
        " size        us         us      %      GB/s       GB/s  algorithm\n"
        "1 KiB     50.00      40.00  -20.0      0.04       0.05  ring, LL128\n"
        "1 MiB    100.00     110.00   10.0     19.66      17.87  ring, LL128 (held out)\n"
        "1 GiB     12345      12345    0.0    163.08     163.08  ring, LL128\n"
        "\n"
        "                       median    p90  largest\n"
        "                        error  error    error   bias\n"
        "size             rows       %      %        %      %\n"
        "up to 64 KiB        1    20.0   20.0     20.0  -20.0\n"
        "64 KiB to 1 MiB     1    10.0   10.0     10.0   10.0\n"
        "above 256 MiB       1     0.0    0.0      0.0    0.0\n"
        "all                 3    10.0   18.0     20.0    0.0\n"
        "\n"
        "sizes at which an assumed bus bandwidth of 100 GB/s is off by more than 10 %:\n"
        "                                                                    assumed over\n"
        "curve                            reference  sizes             rows  actual busbw\n"
        "all-reduce, 16 ranks on 2 nodes  measured   1 KiB to 1 MiB  2 of 3    5.09..2604\n"
        "all-reduce, 16 ranks on 2 nodes  measured   1 GiB           1 of 3         0.613\n"
        "all-reduce, 16 ranks on 2 nodes  predicted  1 KiB to 1 MiB  2 of 3    5.59..2083\n"
        "all-reduce, 16 ranks on 2 nodes  predicted  1 GiB           1 of 3         0.613\n"
        "\n"
        "3 rows on dgx: median error 10.0 %, 90th percentile 18.0 %\n");
}

TEST_CASE("long logs are printed with one row per doubling, or whole on demand", "[comm]") {
  Rows rows;
  for (std::uint64_t i = 1; i <= 1000; ++i) rows.push_back(compared(i << 20, 10, 11));
  const CompareReport report = compare_report("cluster", rows);
  const std::string text = console_text(report);
  CHECK_THAT(text, Catch::Contains("10 of 1000 rows, one each doubling\n"));
  CHECK(lines(text) < 40);
  CHECK(lines(console_text(report, true)) > 1000);
  CHECK(lines(csv_text(report)) == 1001);
}

TEST_CASE("many curves are printed as one line each", "[comm]") {
  Rows rows;
  for (std::uint32_t ranks = 2; ranks < 42; ++ranks)
    for (std::uint64_t i = 0; i < 20; ++i) {
      rows.push_back(compared(std::uint64_t{8} << i, 10, 11));
      rows.back().measured.ranks = ranks;
    }
  const std::string text = console_text(compare_report("cluster", rows));
  CHECK(lines(text) < 70);
  CHECK_THAT(text, Catch::Contains("all-reduce, 41 ranks on 2 nodes    20    10.0"));
  CHECK_THAT(text, !Catch::Contains("measured"));
}

TEST_CASE("the JSON of a comparison has every row, with units in its keys", "[comm]") {
  Rows rows{compared(1024, 50, 40), compared(2048, 60, 61)};
  rows[1].method = "tree, \xff\"LL\"";
  const CompareReport report = compare_report("dgx", rows, 100e9, {{"some.log", 3, "odd \x1b[2J"}});
  const std::string text = json_text(report);
  CHECK(text == json_text(report));
  CHECK(text.back() == '\n');
  const nlohmann::json json = nlohmann::json::parse(text);
  CHECK(json["cluster"] == "dgx");
  CHECK(json["errors"]["rows"] == 2);
  CHECK(json["assumed_bus_bytes_per_s"] == 100e9);
  const nlohmann::json& curve = json["curves"][0];
  CHECK(curve["operation"] == "all-reduce");
  CHECK(curve["ranks"] == 16);
  CHECK(curve["assumption_off"]["measured"][0]["rows"] == 2);
  const nlohmann::json& row = curve["rows"][0];
  CHECK(row["bytes"] == 1024);
  CHECK(row["measured_s"] == 50e-6);
  CHECK(row["predicted_s"] == 40e-6);
  CHECK(row["error"].get<double>() == Approx(-0.2));
  CHECK(row["measured_bus_bytes_per_s"].get<double>() == Approx(1024 / 50e-6 * 1.875));
  CHECK(json["remarks"][0]["line"] == 3);
}

TEST_CASE("cells of a comparison's CSV are neither spreadsheet formulas nor broken lines",
          "[comm]") {
  Rows rows{compared(1024, 50, 40)};
  rows[0].measured.file = "=cmd|' /C calc'!A0,\n.log";
  const std::string text = csv_text(compare_report("cluster", rows));
  CHECK_THAT(text, Catch::StartsWith("operation,ranks,nodes,in_place,type,bytes,measured_s,"));
  CHECK_THAT(text, Catch::Contains("\nall-reduce,16,2,false,float,1024,5e-05,4e-05,"));
  CHECK_THAT(text, Catch::EndsWith(",\"ring, LL128\",false,\"'=cmd|' /C calc'!A0,\n.log\",7\n"));
}

TEST_CASE("names in the terminal have no control characters", "[comm]") {
  Rows rows{compared(1024, 50, 40), compared(1024, 50, 40)};
  rows[0].measured.file = "\x1b[2Jone.log";
  rows[1].measured.file = "two\n.log";
  const std::string text = console_text(compare_report("clus\x1bter", rows));
  CHECK_THAT(text, !Catch::Contains("\x1b"));
  CHECK_THAT(text, Catch::Contains("\\x1b[2Jone.log"));
  CHECK_THAT(text, Catch::Contains("two\\n.log"));
}

}  // namespace pipewright::analysis
