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
  REQUIRE(!checks.error_in(StageRow{0, 0, 0}));
  REQUIRE(!checks.error_in(StageRow{1, 0, 1}));
  return checks;
}

const PassRow valid_pass{1, 1, 0, 7, 1, PassKind::forward, 0, 1, 2, 3, 3};

template <class Change>
std::string pass_error(Change&& change) {
  PassRow row = valid_pass;
  change(row);
  return two_devices().error_in(row).value_or("valid");
}

}  // namespace

TEST_CASE("a pass must lie within its run", "[trace]") {
  CHECK(pass_error([](PassRow&) {}) == "valid");
  CHECK(pass_error([](auto& row) { row.device = 2; }) == "device is 2; expected less than 2");
  CHECK_THAT(pass_error([](auto& row) { row.stage = 2; }), StartsWith("stage is 2"));
  CHECK_THAT(pass_error([](auto& row) { row.chunk = 1; }), StartsWith("chunk is 1"));
  CHECK_THAT(pass_error([](auto& row) { row.microbatch = 8; }), StartsWith("microbatch is 8"));
  CHECK_THAT(pass_error([](auto& row) { row.iteration = 2; }), StartsWith("iteration is 2"));
  CHECK_THAT(pass_error([](auto& row) { row.kind = PassKind{9}; }), StartsWith("kind is 9"));
}

TEST_CASE("the times of a pass are finite and in order", "[trace]") {
  const double infinite = std::numeric_limits<double>::infinity();
  CHECK_THAT(pass_error([&](auto& row) { row.released = infinite; }),
             StartsWith("released is inf"));
  CHECK_THAT(pass_error([](auto& row) { row.sent = -0.5; }), StartsWith("sent is -0.5"));
  CHECK(pass_error([](auto& row) { row.end = 1.5; }) == "end is 1.5, before start at 2");
  CHECK(pass_error([](auto& row) { row.ready = 2.5; }) == "start is 2, before ready at 2.5");
}

TEST_CASE("rows of one device must be in order of time", "[trace]") {
  RowChecks checks = two_devices();
  CHECK(!checks.error_in(valid_pass));
  CHECK(checks.error_in(valid_pass) == "start is 2, but the previous pass on device 1 ends at 3");
  PassRow other = valid_pass;  // the second pass of a fused pair
  other.microbatch = valid_pass.microbatch == 0 ? 1 : 0;
  CHECK(!checks.error_in(other));
  CHECK(!checks.error_in(MemoryRow{0, MemoryCategory::weights, 2, 1}));
  CHECK(!checks.error_in(MemoryRow{1, MemoryCategory::weights, 1, 1}));
  CHECK(checks.error_in(MemoryRow{0, MemoryCategory::weights, 1, 1}) ==
        "time is 1, but the previous row of device 0 is at 2");
}

TEST_CASE("stages, transfers and memory must lie within their run", "[trace]") {
  RowChecks checks = two_devices();
  CHECK_THAT(*checks.error_in(StageRow{0, 0, 2}), StartsWith("device is 2"));
  CHECK_THAT(*checks.error_in(StageRow{0, 1, 0}), StartsWith("chunk is 1"));
  const TransferRow transfer{0, 1, 0, 7, TransferKind::gradient, 10, 1, 2, 3};
  CHECK(!checks.error_in(transfer));
  TransferRow bad = transfer;
  bad.destination = 2;
  CHECK_THAT(*checks.error_in(bad), StartsWith("destination is 2"));
  bad = transfer;
  bad.end = 1;
  CHECK_THAT(*checks.error_in(bad), StartsWith("end is 1, before start at 2"));
  CHECK_THAT(*checks.error_in(MemoryRow{2, {}, 0, 0}), StartsWith("device is 2"));
  CHECK_THAT(*checks.error_in(MemoryRow{0, MemoryCategory{9}, 0, 0}), StartsWith("category is 9"));
}
