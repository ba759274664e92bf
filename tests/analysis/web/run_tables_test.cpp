#include "analysis/web/run_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "analysis/trace/tables.hpp"
#include "analysis/web/html_file.hpp"
#include "tests/analysis/report/picture/fused_trace.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/web/full_trace.hpp"
#include "tests/analysis/web/lane_trace.hpp"
#include "tests/analysis/web/table_decoding.hpp"

namespace pipewright::analysis {
namespace {

constexpr double per_s = 1e12;

std::int64_t ticks(double s) { return std::llround(s * per_s); }

std::map<std::string, std::string> encoded(const trace::Trace& trace, double ticks_per_s = per_s) {
  const std::vector<ColumnTable> tables = run_tables(trace, ticks_per_s);
  std::map<std::string, std::string> bytes;
  for (std::size_t i = 0; i < tables.size(); ++i) bytes[tables[i].schema->name] = encode(tables, i);
  return bytes;
}

test::DecodedTables decoded(const trace::Trace& trace) {
  return test::decode(schema_json(page_tables()), encoded(trace));
}

// Checks that decoding the bytes of every table of a trace gives the table back.
test::DecodedTables check_round_trip(const trace::Trace& trace) {
  auto read = decoded(trace);
  for (const ColumnTable& table : run_tables(trace, per_s)) {
    CAPTURE(table.schema->name);
    const test::DecodedTable& one = read.at(table.schema->name);
    CHECK(one.first == table.first);
    for (const ColumnSchema& column : table.schema->columns) {
      CAPTURE(column.name);
      CHECK(one.columns.at(column.name) == table[column.name]);
    }
  }
  return read;
}

void check_passes(const trace::Trace& trace) {
  const test::DecodedTable passes = check_round_trip(trace).at("passes");
  std::vector<std::size_t> next(passes.first.begin(), passes.first.end() - 1);
  const auto& columns = passes.columns;
  for (const trace::PassRow& pass : trace.passes) {
    const std::size_t i = next.at(pass.device)++;
    REQUIRE(columns.at("start")[i] == ticks(pass.start));
    REQUIRE(columns.at("end")[i] == ticks(pass.end));
    REQUIRE(columns.at("released")[i] == ticks(pass.released));
    REQUIRE(columns.at("ready")[i] == ticks(pass.ready));
    REQUIRE(columns.at("kind")[i] == static_cast<int>(pass.kind));
    REQUIRE(columns.at("stage")[i] == pass.stage);
    REQUIRE(columns.at("chunk")[i] == pass.chunk);
    REQUIRE(columns.at("microbatch")[i] == pass.microbatch);
    REQUIRE(columns.at("iteration")[i] == pass.iteration);
  }
  for (std::size_t device = 0; device < next.size(); ++device)
    CHECK(next[device] == passes.first[device + 1]);
}

std::vector<const trace::PassRow*> passes_in_order(const trace::Trace& trace) {
  std::vector<const trace::PassRow*> passes;
  for (const trace::PassRow& pass : trace.passes) passes.push_back(&pass);
  std::ranges::stable_sort(passes, {}, [](const auto* pass) { return pass->device; });
  return passes;
}

std::size_t packed(const std::map<std::string, std::string>& bytes,
                   const std::vector<std::string>& tables) {
  std::size_t size = 0;
  for (const std::string& table : tables) size += gzip(bytes.at(table)).size();
  return size;
}

}  // namespace

TEST_CASE("passes can be decoded from their table") {
  check_passes(test::one_f_one_b_trace({}));
  check_passes(test::one_f_one_b_trace({.split_backward = true, .blocked_s = 0.3e-3}));
  trace::Trace chunked = test::one_f_one_b_trace({.devices = 3, .microbatches = 20});
  for (trace::PassRow& pass : chunked.passes) {
    pass.chunk = pass.microbatch % 4;
    pass.stage += 3 * pass.chunk;
    pass.iteration = pass.microbatch / 10;
  }
  check_passes(chunked);
  check_passes(test::fused_trace());
  check_passes({});
}

TEST_CASE("columns of a page have the names of the trace's columns") {
  const auto check = [](PageTable number, auto row) {
    using Table = trace::Table<decltype(row)>;
    const TableSchema& schema = schema_of(number);
    CHECK(schema.name == Table::name);
    std::size_t shared = 0;
    for (const trace::Column& column : Table::columns)
      shared += std::ranges::count(schema.columns, column.name, &ColumnSchema::name);
    CHECK(shared + 2 >= schema.columns.size());  // maker and taker of a transfer
  };
  check(PageTable::passes, trace::PassRow{});
  check(PageTable::transfers, trace::TransferRow{});
  check(PageTable::collectives, trace::CollectiveRow{});
  check(PageTable::steps, trace::StepRow{});
  check(PageTable::stages, trace::StageRow{});
  check(PageTable::paths, trace::PathRow{});
  check(PageTable::memory, trace::MemoryRow{});
  check(PageTable::link_use, trace::LinkUseRow{});
}

TEST_CASE("transfers connect the pass that produces a tensor with the pass that receives it") {
  const trace::Trace trace = test::lane_trace();
  const auto passes = passes_in_order(trace);
  const auto columns = check_round_trip(trace).at("transfers").columns;
  REQUIRE(columns.at("taker").size() == trace.transfers.size());
  for (std::size_t i = 0; i < trace.transfers.size(); ++i) {
    REQUIRE(columns.at("taker")[i] >= 0);
    REQUIRE(columns.at("maker")[i] >= 0);
    const trace::PassRow& taker = *passes[static_cast<std::size_t>(columns.at("taker")[i])];
    const trace::PassRow& maker = *passes[static_cast<std::size_t>(columns.at("maker")[i])];
    CHECK(ticks(maker.end) == columns.at("posted")[i]);
    CHECK(ticks(taker.ready) == columns.at("end")[i]);
    CHECK(maker.device == columns.at("source")[i]);
    CHECK(maker.stage == columns.at("stage")[i]);
    CHECK(maker.microbatch == taker.microbatch);
    CHECK(maker.kind == taker.kind);
  }
}

TEST_CASE("a transfer may lack its producing or its receiving pass") {
  trace::Trace trace = test::lane_trace();
  const auto gone = [](const trace::PassRow& pass) {
    return pass.device == 1 && pass.microbatch == 3 && pass.kind == trace::PassKind::forward;
  };
  std::erase_if(trace.passes, gone);
  const test::DecodedTable transfers = check_round_trip(trace).at("transfers");
  const auto& taker = transfers.columns.at("taker");
  const auto& maker = transfers.columns.at("maker");
  std::size_t untaken = 0;
  std::size_t unmade = 0;
  for (std::size_t device = 0; device + 1 < transfers.first.size(); ++device) {
    const auto begin = taker.begin() + static_cast<std::ptrdiff_t>(transfers.first[device]);
    const auto end = taker.begin() + static_cast<std::ptrdiff_t>(transfers.first[device + 1]);
    CHECK(std::is_sorted(begin, end));  // transfers without a receiving pass come first
  }
  for (std::size_t i = 0; i < taker.size(); ++i) {
    untaken += taker[i] < 0 ? 1U : 0U;
    unmade += taker[i] >= 0 && maker[i] < 0 ? 1U : 0U;
  }
  CHECK(untaken == 1);
  CHECK(unmade == 1);
}

TEST_CASE("idle times and the critical path can be decoded with their passes") {
  const trace::Trace trace = test::lane_trace();
  const auto tables = check_round_trip(trace);
  const auto& passes = tables.at("passes").columns;
  const auto& idle = tables.at("idle").columns;
  for (std::size_t i = 0; i < idle.at("next").size(); ++i) {
    const std::int64_t next = idle.at("next")[i];
    const std::int64_t previous = idle.at("previous")[i];
    CHECK(idle.at("start")[i] < idle.at("end")[i]);
    if (next >= 0) CHECK(passes.at("start")[std::size_t(next)] >= idle.at("end")[i]);
    if (previous >= 0) CHECK(passes.at("end")[std::size_t(previous)] <= idle.at("start")[i]);
  }
  const auto& path = tables.at("critical_path").columns;
  CHECK(std::ranges::is_sorted(path.at("end")));
  for (std::size_t i = 0; i < path.at("pass").size(); ++i)
    if (const std::int64_t pass = path.at("pass")[i]; pass >= 0)
      CHECK(passes.at("microbatch")[std::size_t(pass)] == path.at("microbatch")[i]);
}

TEST_CASE("the order of transfers and link use in a trace does not change a page's tables") {
  trace::Trace trace = test::lane_trace();
  trace.links = test::full_trace().links;
  trace.link_use = test::full_trace().link_use;
  const auto bytes = encoded(trace);
  std::shuffle(trace.transfers.begin(), trace.transfers.end(), std::mt19937(1));
  std::reverse(trace.link_use.begin(), trace.link_use.end());
  CHECK(encoded(trace) == bytes);
}

TEST_CASE("a trace with only passes and an empty trace have all tables") {
  for (const trace::Trace& trace : {test::one_f_one_b_trace({}), test::fused_trace(), {}})
    CHECK(check_round_trip(trace).size() == page_tables().size());
}

TEST_CASE("changes of memory can be decoded by device") {
  const trace::Trace trace = test::full_trace();
  const test::DecodedTable memory = check_round_trip(trace).at("memory");
  std::vector<std::size_t> next(memory.first.begin(), memory.first.end() - 1);
  std::vector<std::array<std::uint64_t, trace::memory_categories>> held(next.size());
  for (const trace::MemoryRow& row : trace.memory) {
    const auto category = static_cast<std::size_t>(row.category);
    std::uint64_t& before = held[row.device].at(category);
    if (row.bytes == before) continue;
    const std::size_t i = next[row.device]++;
    REQUIRE(memory.columns.at("time")[i] == ticks(row.time));
    REQUIRE(memory.columns.at("category")[i] == static_cast<std::int64_t>(category));
    REQUIRE(memory.columns.at("bytes")[i] == static_cast<std::int64_t>(row.bytes));
    before = row.bytes;
  }
  for (std::size_t device = 0; device < next.size(); ++device)
    CHECK(next[device] == memory.first[device + 1]);
}

TEST_CASE("large memory sizes stay exact, and rows without a change are left out") {
  trace::Trace trace;
  trace.devices.resize(2);
  constexpr std::uint64_t large = std::uint64_t{3} << 50;
  using trace::MemoryCategory;
  trace.memory = {{1, MemoryCategory::weights, 0, large},
                  {0, MemoryCategory::logits, 0, 0},
                  {1, MemoryCategory::allowance, 1e-3, 7},
                  {1, MemoryCategory::weights, 1e-3, large},
                  {1, MemoryCategory::weights, 2e-3, 1}};
  const test::DecodedTable memory = check_round_trip(trace).at("memory");
  CHECK(memory.first == std::vector<std::size_t>{0, 0, 3});
  CHECK(memory.columns.at("bytes") == std::vector<std::int64_t>{std::int64_t(large), 7, 1});
  CHECK(memory.columns.at("category")[1] == 8);
  CHECK(memory.columns.at("time")[1] == 1'000'000'000);
}

TEST_CASE("link use can be decoded in order of time") {
  const trace::Trace trace = test::full_trace();
  const test::DecodedTable use = check_round_trip(trace).at("link_use");
  std::vector<std::size_t> next(use.first.begin(), use.first.end() - 1);
  for (const trace::LinkUseRow& row : trace.link_use) {
    const std::size_t i = next.at(row.link)++;
    REQUIRE(use.columns.at("start")[i] == ticks(row.start));
    REQUIRE(use.columns.at("end")[i] == ticks(row.end));
    REQUIRE(use.columns.at("traffic")[i] == static_cast<std::int64_t>(row.traffic));
    REQUIRE(use.columns.at("bytes")[i] == static_cast<std::int64_t>(row.bytes));
    REQUIRE(use.columns.at("flows")[i] == ticks(row.flows));
    REQUIRE(use.columns.at("waited")[i] == ticks(row.waited));
  }
}

TEST_CASE("a periodic run takes few bytes per pass") {
  const trace::Trace passes = test::one_f_one_b_trace({.devices = 8, .microbatches = 512});
  CHECK(packed(encoded(passes, 1e10), {"passes"}) < 2 * passes.passes.size());
  const trace::Trace lanes = test::lane_trace(2048);
  CHECK(packed(encoded(lanes, 1e10), {"transfers", "collectives", "steps", "stages", "paths",
                                      "idle", "critical_path"}) < lanes.passes.size());
  const trace::Trace memory = test::full_trace(512);
  CHECK(packed(encoded(memory, 1e10), {"memory"}) < 2 * memory.memory.size());
}

TEST_CASE("a later start shifts the instants of a run and keeps its durations") {
  const trace::Trace trace = test::one_f_one_b_trace({.devices = 4, .microbatches = 8});
  const std::vector<ColumnTable> early = run_tables(trace, per_s);
  const std::vector<ColumnTable> late = run_tables(trace, per_s, 2.5);
  const auto passes = static_cast<std::size_t>(PageTable::passes);
  for (std::size_t i = 0; i < trace.passes.size(); ++i) {
    CHECK(late[passes]["start"][i] == early[passes]["start"][i] + ticks(2.5));
    CHECK(late[passes]["released"][i] == early[passes]["released"][i] + ticks(2.5));
    CHECK(late[passes]["length"][i] == early[passes]["length"][i]);
    CHECK(late[passes]["microbatch"][i] == early[passes]["microbatch"][i]);
  }
  const auto memory = static_cast<std::size_t>(PageTable::memory);
  REQUIRE(early[memory].rows() > 0);
  for (std::size_t i = 0; i < early[memory].rows(); ++i)
    CHECK(late[memory]["time"][i] == early[memory]["time"][i] + ticks(2.5));
}

}  // namespace pipewright::analysis
