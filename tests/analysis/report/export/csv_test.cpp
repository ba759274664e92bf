#include <map>
#include <sstream>

#include <catch2/catch.hpp>

#include "analysis/report/export/exports.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/sink.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::analysis {
namespace {

using Files = std::map<std::string, std::ostringstream>;

Files exported(const trace::Trace& trace) {
  Files files;
  trace::replay(trace, *csv_export([&](const std::string& table) { return &files[table]; }));
  return files;
}

// Parses a CSV file by the rules of RFC 4180.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (c == '"')
      is_quoted = !is_quoted;
    else if (c == ',' && !is_quoted)
      rows.back().emplace_back();
    else if (c == '\n' && !is_quoted)
      rows.push_back({""});
    else
      rows.back().back() += c;
  }
  CHECK_FALSE(is_quoted);
  CHECK(rows.back() == std::vector<std::string>{""});
  rows.pop_back();
  return rows;
}

}  // namespace

TEST_CASE("each table of a trace is a CSV file with one line per row", "[export]") {
  const trace::Trace trace = pipewright::test::random_trace(3, 3, 50);
  const Files files = exported(trace);
  std::vector<std::string> names;
  for (const std::string& table : csv_table_names()) {
    CAPTURE(table);
    REQUIRE(files.count(table) == 1);
    const auto rows = parse_csv(files.at(table).str());
    for (const auto& row : rows) CHECK(row.size() == rows[0].size());
  }
  CHECK(files.size() == csv_table_names().size());
  CHECK(parse_csv(files.at("passes").str()).size() == 1 + trace.passes.size());
  CHECK(parse_csv(files.at("memory").str()).size() == 1 + trace.memory.size());
  CHECK(parse_csv(files.at("link_use").str()).size() == 1 + trace.link_use.size());
  CHECK(parse_csv(files.at("steps").str()).size() == 1);
}

TEST_CASE("numbers in CSV are read back exactly, and column names have units", "[export]") {
  const trace::Trace trace = pipewright::test::random_trace(4, 2, 30);
  const auto rows = parse_csv(exported(trace).at("passes").str());
  CHECK(rows[0] == std::vector<std::string>{"device", "stage", "chunk", "microbatch", "iteration",
                                            "kind", "sent_s", "ready_s", "start_s", "end_s",
                                            "released_s"});
  for (std::size_t i = 0; i < trace.passes.size(); ++i) {
    CHECK(std::stoul(rows[i + 1][0]) == trace.passes[i].device);
    CHECK(rows[i + 1][5] == std::string(1, "FIWBRST"[static_cast<int>(trace.passes[i].kind)]));
    CHECK(std::stod(rows[i + 1][9]) == trace.passes[i].end);
  }
  CHECK(parse_csv(exported(trace).at("links").str())[0].back() == "bandwidth_bytes_per_s");
}

TEST_CASE("names in CSV are quoted and are not formulas", "[export]") {
  trace::Trace run = pipewright::test::two_device_run();
  run.devices[0].host = "a,\"b\"\nc";
  run.devices[1].host = "=HYPERLINK(1)";
  const auto rows = parse_csv(exported(run).at("devices").str());
  CHECK(rows[1][1] == "a,\"b\"\nc");
  CHECK(rows[2][1] == "'=HYPERLINK(1)");
  CHECK(csv_field("-1+2") == "'-1+2");
  CHECK(csv_field("@a,b") == "\"'@a,b\"");
  CHECK(csv_field("node-0") == "node-0");
  CHECK(csv_field("").empty());
}

TEST_CASE("the attributes of a run are also a table", "[export]") {
  std::map<std::string, std::string> run;
  for (const auto& row : parse_csv(exported(pipewright::test::two_device_run()).at("run").str()))
    run[row[0]] = row[1];
  CHECK(run["schedule"] == "1f1b");
  CHECK(run["network"] == "ideal, 500 ms a hop");
  CHECK(run["microbatches"] == "2");
}

TEST_CASE("a table without a stream is left out", "[export]") {
  std::ostringstream memory;
  trace::replay(pipewright::test::two_device_run(), *csv_export([&](const std::string& table) {
                  return table == "memory" ? &memory : nullptr;
                }));
  CHECK(memory.str() ==
        "device,category,time_s,bytes\n0,weights,0,4294967296\n1,weights,0,2147483648\n"
        "0,activations,1,3221225472\n0,activations,10,0\n");
}

}  // namespace pipewright::analysis
