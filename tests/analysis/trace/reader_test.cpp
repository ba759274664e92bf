#include "analysis/trace/reader.hpp"

#include <limits>

#include <catch2/catch.hpp>

using namespace pipewright::trace;
using Catch::Matchers::StartsWith;

namespace {

RowChecks two_devices() {
  RunInfo run;
  run.devices = 2;
  run.chunks = 1;
  run.microbatches = 4;
  run.iterations = 2;
  RowChecks checks(run);
  REQUIRE(!checks.wrong(StageRow{0, 0, 0}));
  REQUIRE(!checks.wrong(StageRow{1, 0, 1}));
  return checks;
}

const PassRow good{1, 1, 0, 7, 1, PassKind::forward, 0, 1, 2, 3, 3};

template <class Change>
std::string wrong_pass(Change&& change) {
  PassRow row = good;
  change(row);
  return two_devices().wrong(row).value_or("nothing");
}

}  // namespace

TEST_CASE("a pass must lie within its run", "[trace]") {
  CHECK(wrong_pass([](PassRow&) {}) == "nothing");
  CHECK(wrong_pass([](auto& row) { row.device = 2; }) == "device is 2: less than 2 was expected");
  CHECK_THAT(wrong_pass([](auto& row) { row.stage = 2; }), StartsWith("stage is 2"));
  CHECK_THAT(wrong_pass([](auto& row) { row.chunk = 1; }), StartsWith("chunk is 1"));
  CHECK_THAT(wrong_pass([](auto& row) { row.microbatch = 8; }), StartsWith("microbatch is 8"));
  CHECK_THAT(wrong_pass([](auto& row) { row.iteration = 2; }), StartsWith("iteration is 2"));
  CHECK_THAT(wrong_pass([](auto& row) { row.kind = PassKind{9}; }), StartsWith("kind is 9"));
}

TEST_CASE("the times of a pass are finite and in order", "[trace]") {
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK_THAT(wrong_pass([&](auto& row) { row.released = infinite; }),
             StartsWith("released is inf"));
  CHECK_THAT(wrong_pass([](auto& row) { row.sent = -0.5; }), StartsWith("sent is -0.5"));
  CHECK(wrong_pass([](auto& row) { row.end = 1.5; }) == "end is 1.5, before start at 2");
  CHECK(wrong_pass([](auto& row) { row.ready = 2.5; }) == "start is 2, before ready at 2.5");
}

TEST_CASE("rows of one device come in order of time", "[trace]") {
  RowChecks checks = two_devices();
  CHECK(!checks.wrong(good));
  CHECK(checks.wrong(good) == "start is 2, but the pass before on device 1 ends at 3");
  CHECK(!checks.wrong(MemoryRow{0, MemoryCategory::weights, 2, 1}));
  CHECK(!checks.wrong(MemoryRow{1, MemoryCategory::weights, 1, 1}));
  CHECK(checks.wrong(MemoryRow{0, MemoryCategory::weights, 1, 1}) ==
        "time is 1, before the row before of device 0 at 2");
}

TEST_CASE("stages, transfers and memory must lie within their run", "[trace]") {
  RowChecks checks = two_devices();
  CHECK_THAT(*checks.wrong(StageRow{0, 0, 2}), StartsWith("device is 2"));
  CHECK_THAT(*checks.wrong(StageRow{0, 1, 0}), StartsWith("chunk is 1"));
  const TransferRow transfer{0, 1, 0, 7, TransferKind::gradient, 10, 1, 2, 3};
  CHECK(!checks.wrong(transfer));
  TransferRow bad = transfer;
  bad.destination = 2;
  CHECK_THAT(*checks.wrong(bad), StartsWith("destination is 2"));
  bad = transfer;
  bad.end = 1;
  CHECK_THAT(*checks.wrong(bad), StartsWith("end is 1, before start at 2"));
  CHECK_THAT(*checks.wrong(MemoryRow{2, {}, 0, 0}), StartsWith("device is 2"));
  CHECK_THAT(*checks.wrong(MemoryRow{0, MemoryCategory{9}, 0, 0}), StartsWith("category is 9"));
}
