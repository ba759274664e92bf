#include "analysis/commlogs/reports/matrix_report.hpp"

#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/analysis/commlogs/pair_matrices.hpp"

namespace pipewright::analysis {
namespace {

MatrixReport report_of(const PairMatrix& matrix) {
  MatrixReport report{.cluster = "mine.xml", .by_gpu = matrix, .matrix = matrix};
  PermutationFigures& worst = report.contention.worst;
  worst = {.slowest = 5e9,
           .total = 40e9,
           .alone = 80e9,
           .slowest_sender = 1,
           .slowest_receiver = 2,
           .link = "uplink-0_UP",
           .link_class = "uplink",
           .link_bandwidth = 10e9,
           .link_flows = 2,
           .receiver_of = {2, 3, 0, 1}};
  report.contention.half_shift = worst;
  report.contention.bisection = 20e9;
  report.contention.all_pairs = 16e9;
  report.contention.worst_from = "reversed order";
  report.contention.tried = 99;
  report.contention.slowest_bound = 2.5e9;
  return report;
}

}  // namespace

TEST_CASE("the text of a small matrix has every cell, with units", "[comm]") {
  CHECK(matrix_text(report_of(test::nodes_of_gpus(2, 2))) ==
        "mine.xml: 4 GPUs on 2 nodes\n"
        "\n"
        "                                     bandwidth  latency\n"
        "where       pairs  links                  GB/s       us  first pair\n"
        "in a node       4  nvlink                  100        2  gpu-0 to gpu-1\n"
        "same rail       4  nic                      10       10  gpu-0 to gpu-2\n"
        "other rail      4  nic + leaf-spine         10       12  gpu-0 to gpu-3\n"
        "\n"
        "GB/s from       0    1    2    3\n"
        "gpu-0      0    -  100   10   10\n"
        "gpu-1      1  100    -   10   10\n"
        "gpu-2      2   10   10    -  100\n"
        "gpu-3      3   10   10  100    -\n"
        "\n"
        "us from      0   1   2   3\n"
        "gpu-0    0   -   2  10  12\n"
        "gpu-1    1   2   -  12  10\n"
        "gpu-2    2  10  12   -   2\n"
        "gpu-3    3  12  10   2   -\n"
        "\n"
        "first half of the GPUs to the second, along rails (bisection): 20 GB/s, 10 per GPU\n"
        "first half of the GPUs to the second, each to each:            16 GB/s, 8 per GPU\n"
        "\n"
        "                                             share of\n"
        "                             slowest  total     total                         flows\n"
        "permutation                     GB/s   GB/s     alone  bottleneck of slowest  on it\n"
        "shift by 2                         5     40      50 %  uplink-0_UP, 10 GB/s       2\n"
        "worst found: reversed order        5     40      50 %  uplink-0_UP, 10 GB/s       2\n"
        "99 permutations tried; no permutation slows a flow below 2.5 GB/s\n");
}

TEST_CASE("the text of a large matrix only has its classes", "[comm]") {
  const std::string text = matrix_text(report_of(test::nodes_of_gpus(4, 8)));
  CHECK_THAT(text, Catch::Contains("in a node     224") && !Catch::Contains("GB/s from"));
}

TEST_CASE("the report of a sample of pairs gives the number of pairs", "[comm]") {
  PairMatrix matrix = test::nodes_of_gpus(4, 8);
  matrix.class_of.clear();
  matrix.pairs = 64;
  MatrixReport report = report_of(matrix);
  report.contention.all_pairs = report.contention.slowest_bound = 0;
  const std::string text = matrix_text(report);
  CHECK_THAT(text, Catch::Contains("64 of 992 pairs were examined") &&
                       Catch::Contains("99 permutations tried\n") &&
                       !Catch::Contains("each to each"));
}

TEST_CASE("the bandwidth of messages includes their latency", "[comm]") {
  MatrixReport report = report_of(test::nodes_of_gpus(2, 2));
  report.message = 100'000;  // 10 us at 10 GB/s, after 10 us
  CHECK_THAT(matrix_text(report),
             Catch::Contains("same rail       4  nic                       5"));
  const auto json = nlohmann::json::parse(matrix_json(report));
  CHECK(json["classes"][1]["message_bandwidth_bytes_per_s"] == Approx(5e9));
  CHECK(json["classes"][1]["bandwidth_bytes_per_s"] == Approx(10e9));
}

TEST_CASE("the JSON of a matrix has all figures in base units", "[comm]") {
  const auto json = nlohmann::json::parse(matrix_json(report_of(test::nodes_of_gpus(2, 2))));
  CHECK(json["gpus"].size() == 4);
  CHECK(json["matrix"]["class_of"][0][0].is_null());
  const std::size_t number = json["matrix"]["class_of"][0][3];
  CHECK(json["classes"][number]["latency_s"] == Approx(12e-6));
  CHECK(json["bisection_bytes_per_s"] == 20e9);
  CHECK(json["worst_found"]["slowest_sender"] == "gpu-1");
  CHECK(json["worst_found"]["full_link"]["flows"] == 2);
  CHECK(json["worst_found"]["receiver_of"] == std::vector{2, 3, 0, 1});
  CHECK(json["permutations_tried"] == 99);
}

TEST_CASE("the CSV of a matrix has one line per pair", "[comm]") {
  PairMatrix matrix = test::nodes_of_gpus(2, 2);
  matrix.names[1] = "=cmd,\"x\"";
  std::ostringstream out;
  write_matrix_csv(report_of(matrix), out);
  const std::string text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == 1 + 12);
  CHECK_THAT(text,
             Catch::StartsWith("sender,receiver,bandwidth_bytes_per_s,latency_s,where,links\n"
                               "gpu-0,\"'=cmd,\"\"x\"\"\",100000000000,2e-06,in a node,nvlink\n"));
}

TEST_CASE("control characters of names do not reach the terminal", "[comm]") {
  PairMatrix matrix = test::nodes_of_gpus(2, 2);
  matrix.names[0] = matrix.classes[0].sender = "\x1b[31mred";
  matrix.classes[0].links = "nv\nlink";
  MatrixReport report = report_of(matrix);
  report.cluster = "a\x1b.xml";
  report.contention.worst.link = "\x1b]0;";
  CHECK(matrix_text(report).find('\x1b') == std::string::npos);
  CHECK_THAT(matrix_text(report), Catch::Contains("nv\\nlink"));
}

}  // namespace pipewright::analysis
