#include "analysis/measured/memory/snapshot.hpp"

#include <catch2/catch.hpp>

#include "analysis/measured/compare/snapshot_comparison.hpp"
#include "analysis/measured/memory/pickle.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::MemorySnapshot;
using analysis::Pickle;
using analysis::PickleValue;
using analysis::read_pickle;
using analysis::read_snapshot;
using trace::MemoryCategory;

namespace {

constexpr double mib = 1024.0 * 1024;

Pickle read_bytes(const std::string& bytes) {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.pickle", bytes);
  return read_pickle(folder / "t.pickle");
}

using namespace std::string_literals;

}  // namespace

TEST_CASE("the peak of a snapshot comes from its history, by category of stacks", "[import]") {
  // The peak of 19 MiB consists of 4 MiB of weights, 8 MiB of Adam's state, 2 MiB of activations in
  // each of three layers, and a 1 MiB tensor of a backward pass.
  const MemorySnapshot snapshot = read_snapshot(test::measured_sample("snapshot-rank0.pickle"));
  CHECK(snapshot.allocated == 12 * mib);
  CHECK(snapshot.reserved == 24 * mib);
  CHECK(snapshot.peak_allocated == 19 * mib);
  CHECK(snapshot.at_peak.at(MemoryCategory::weights) == 4 * mib);
  CHECK(snapshot.at_peak.at(MemoryCategory::optimizer) == 8 * mib);
  CHECK(snapshot.at_peak.at(MemoryCategory::activations) == 6 * mib);
  CHECK(snapshot.unattributed == 1 * mib);
  REQUIRE(snapshot.over_time.size() == 8);  // Four allocations and four frees.
  CHECK(snapshot.over_time[0].bytes == 14 * mib);
  CHECK(snapshot.over_time[3].time_s == Approx(3e-3));
  CHECK(snapshot.over_time[7].bytes == 12 * mib);
}

TEST_CASE("all pickle protocols are read", "[import]") {
  const MemorySnapshot two = read_snapshot(test::measured_sample("snapshot-rank1.pickle"));
  CHECK(two.peak_allocated == 17 * mib);
  CHECK(two.at_peak.at(MemoryCategory::activations) == 4 * mib);
  const Pickle numbers =
      read_bytes("\x80\x02](K\x07J\xfe\xff\xff\xff\x8a\x05\x00\x00\x00\x00\x01"s +
                 "G?\xe0\x00\x00\x00\x00\x00\x00N\x8c\x01xq\x00h\x00\x86"s + "e.");
  const auto& items = numbers.root().items;
  REQUIRE(items.size() == 6);
  CHECK(numbers.at(items[0]).integer == 7);
  CHECK(numbers.at(items[1]).integer == -2);
  CHECK(numbers.at(items[2]).integer == std::int64_t{1} << 32);
  CHECK(numbers.at(items[3]).real == 0.5);
  CHECK(numbers.at(items[4]).kind == PickleValue::Kind::none);
  CHECK(numbers.at(items[5]).items.size() == 2);
}

TEST_CASE("pickles that call something and broken pickles are refused", "[import]") {
  CHECK_THROWS_WITH(read_bytes("\x80\x02"s + "cos\nsystem\nX\x02\x00\x00\x00ls\x85R."),
                    Catch::Contains("names a class or a function"));
  CHECK_THROWS_WITH(read_bytes("\x80\x04\x8c\x02os\x8c\x06system\x93."s),
                    Catch::Contains("names a class or a function"));
  CHECK_THROWS_WITH(read_bytes("\x80\x04}\x8d\xff\xff\xff\xff\xff\xff\xff\x0fx"s),
                    Catch::Contains("cut short"));
  CHECK_THROWS_WITH(read_bytes("\x80\x04}"s), Catch::Contains("cut short"));
  CHECK_THROWS_WITH(read_bytes("\x80\x04u."s), Catch::Contains("mark"));
  CHECK_THROWS_WITH(read_bytes("\x80\x04."s), Catch::Contains("empty stack"));
  CHECK_THROWS_WITH(read_bytes("\x80\x04h\x05."s), Catch::Contains("was not stored"));
  CHECK_THROWS_WITH(read_bytes("\x80\x09."s), Catch::Contains("protocol 9"));
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.pickle", "\x80\x04}.");
  CHECK_THROWS_WITH(read_snapshot(folder / "t.pickle"), Catch::Contains("_dump_snapshot"));
}

TEST_CASE("snapshots are compared with a prediction by component", "[import]") {
  trace::Trace predicted = test::two_device_run();
  predicted.memory.clear();
  for (const std::uint32_t device : {0U, 1U}) {
    const auto hold = [&](MemoryCategory category, double mebibytes) {
      predicted.memory.push_back(
          {device, category, 0, static_cast<std::uint64_t>(mebibytes * mib)});
    };
    hold(MemoryCategory::weights, 4);
    hold(MemoryCategory::optimizer, 10);
    hold(MemoryCategory::activations, 6);
  }
  const analysis::SnapshotComparison result = compare_snapshots(
      analysis::figures_of(predicted, "p"), {test::measured_sample("snapshot-rank0.pickle"),
                                             test::measured_sample("snapshot-rank1.pickle")});
  const auto error = [&](std::uint32_t device, const std::string& part) {
    for (const analysis::MemoryError& row : result.memory)
      if (row.device == device && row.part == part) return row.error().value();
    return -100.0;
  };
  CHECK(error(0, "peak allocated") == Approx(20.0 / 19 - 1));
  CHECK(error(1, "peak allocated") == Approx(20.0 / 17 - 1));
  CHECK(error(0, "held between iterations") == Approx(14.0 / 12 - 1));
  CHECK(error(0, "weights") == Approx(0).margin(1e-12));
  CHECK(error(0, "optimizer") == Approx(10.0 / 8 - 1));
  CHECK(error(1, "activations") == Approx(6.0 / 4 - 1));
  CHECK(measured_metrics(result).front().value == 19 * mib);
  CHECK_THAT(console_text(result), Catch::Contains("peak allocated"));
}
