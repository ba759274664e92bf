#include "analysis/page/memory_columns.hpp"

#include <array>
#include <cmath>

#include <catch2/catch.hpp>

#include "analysis/page/binary_text.hpp"
#include "tests/analysis/page/full_trace.hpp"
#include "tests/analysis/page/panel_unpacking.hpp"

namespace pipewright::analysis {
namespace {

constexpr double per_s = 1e12;

}  // namespace

TEST_CASE("changes of memory come back from their columns, device by device") {
  const trace::Trace trace = test::full_trace();
  const auto devices = test::unpack_memory(memory_columns(trace, per_s), trace.devices.size());
  std::vector<std::size_t> next(devices.size());
  std::vector<std::array<std::uint64_t, trace::memory_categories>> held(devices.size());
  for (const trace::MemoryRow& row : trace.memory) {
    const auto category = static_cast<std::size_t>(row.category);
    std::uint64_t& before = held[row.device].at(category);
    if (row.bytes == before) continue;
    const test::MemoryChange& read = devices.at(row.device).at(next[row.device]++);
    REQUIRE(read.time == std::llround(row.time * per_s));
    REQUIRE(read.category == category);
    REQUIRE(read.difference == static_cast<std::int64_t>(row.bytes - before));
    before = row.bytes;
  }
  for (std::size_t device = 0; device < next.size(); ++device)
    CHECK(devices[device].size() == next[device]);
}

TEST_CASE("large sizes of memory stay whole and what changes nothing is left out") {
  trace::Trace trace;
  trace.devices.resize(2);
  constexpr std::uint64_t large = std::uint64_t{3} << 50;
  using trace::MemoryCategory;
  trace.memory = {{1, MemoryCategory::weights, 0, large},
                  {0, MemoryCategory::logits, 0, 0},
                  {1, MemoryCategory::allowance, 1e-3, 7},
                  {1, MemoryCategory::weights, 1e-3, large},
                  {1, MemoryCategory::weights, 2e-3, 1}};
  const auto devices = test::unpack_memory(memory_columns(trace, per_s), 2);
  CHECK(devices[0].empty());
  REQUIRE(devices[1].size() == 3);
  CHECK(devices[1][0].difference == static_cast<std::int64_t>(large));
  CHECK(devices[1][1].category == 8);
  CHECK(devices[1][1].time == 1'000'000'000);
  CHECK(devices[1][2].difference == 1 - static_cast<std::int64_t>(large));
}

TEST_CASE("the memory of a periodic run takes less than two bytes a change") {
  const trace::Trace run = test::full_trace(512);
  CHECK(gzip(memory_columns(run, 1e10)).size() < 2 * run.memory.size());
}

}  // namespace pipewright::analysis
