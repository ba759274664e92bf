#include "sim/comm/accuracy_records.hpp"

#include <catch2/catch.hpp>

#include "sim/comm/fitted_file.hpp"
#include "support/paths.hpp"

using namespace pipewright;
using analysis::ComparedRow;
using analysis::Operation;
using cluster::Record;

namespace {

ComparedRow row(Operation operation, std::uint32_t ranks, std::uint32_t nodes, std::uint64_t bytes,
                double error) {
  ComparedRow compared;
  compared.measured = {.operation = operation,
                       .ranks = ranks,
                       .nodes = nodes,
                       .bytes = bytes,
                       .seconds = 1,
                       .type = "",
                       .file = "logs/a.log"};
  compared.predicted = 1 + error;
  return compared;
}

}  // namespace

TEST_CASE("records are separate for each operation, and for one node and several", "[record]") {
  const auto cluster = cluster::Cluster::load(PIPEWRIGHT_ROOT "/platforms/clusters/dgx-a100.xml");
  // The log with 16 ranks does not state the number of nodes, which is 2 with eight GPUs per node.
  const std::vector<ComparedRow> rows{row(Operation::all_reduce, 8, 0, 1 << 20, 0.1),
                                      row(Operation::all_reduce, 2, 1, 1 << 10, -0.2),
                                      row(Operation::all_reduce, 4, 1, 1 << 12, 0.3),
                                      row(Operation::all_reduce, 16, 0, 1 << 20, 0.5),
                                      row(Operation::all_gather, 8, 1, 1 << 20, 0)};
  const auto records = comm::records_of(cluster, rows, true, comm::source_text(rows));
  REQUIRE(records.size() == 3);
  CHECK(to_string(records[0]) ==
        "all-reduce; 2 to 8 ranks; 1 node; 1 KiB to 1 MiB; 3 rows; median 20.0 %; p90 28.0 %; "
        "held out; a.log");
  CHECK(to_string(records[1]) ==
        "all-reduce; 16 ranks; 2 nodes; 1 MiB; 1 row; median 50.0 %; p90 50.0 %; held out; a.log");
  CHECK(records[2].operation == "all-gather");
  CHECK(comm::accuracy_text(records, "all-reduce", 1) ==
        "tested on all-reduce, 2 to 8 ranks, 1 KiB to 1 MiB: median 20.0 %, 90th percentile 28.0 % "
        "(held out)");
  CHECK(comm::accuracy_text(records, "broadcast", 1).empty());
}

TEST_CASE("a record replaces an older one of the same rows", "[record]") {
  const Record older{.operation = "all-reduce", .max_nodes = 1, .rows = 1, .source = "a"};
  Record newer = older;
  newer.rows = 2;
  Record unrelated = older;
  unrelated.source = "b";
  Record wider = older;
  wider.max_nodes = 2;
  CHECK(comm::merge_records(std::vector{older, unrelated}, std::vector{newer, wider}) ==
        std::vector{newer, unrelated, wider});
}

TEST_CASE("new records replace all records of a file", "[record]") {
  const std::string before =
      "<platform version=\"4.1\">\n  <zone id=\"a\" routing=\"None\">\n"
      "    <prop id=\"x\" value=\"1\"/>\n";
  const std::string after = "    <prop id=\"y\" value=\"1\"/>\n  </zone>\n</platform>\n";
  const std::string with_old = before + "    <prop id=\"record.1\" value=\"old\"/>\n" +
                               "    <prop id=\"record.2\" value=\"old\"></prop>\n" + after;
  CHECK(comm::with_records(with_old, {}) == before + after);
  const Record record{.operation = "broadcast",
                      .min_ranks = 2,
                      .max_ranks = 2,
                      .min_nodes = 1,
                      .max_nodes = 1,
                      .min_bytes = 8,
                      .max_bytes = 8,
                      .rows = 1,
                      .source = "b.log"};
  const std::string written = comm::with_records(with_old, std::vector{record});
  CHECK(written.find("<prop id=\"record.1\" value=\"broadcast; 2 ranks; 1 node; 8 B; 1 row; ") !=
        std::string::npos);
  CHECK(written.find("old") == std::string::npos);
  CHECK(comm::with_records(written, {}) == before + after);
}
