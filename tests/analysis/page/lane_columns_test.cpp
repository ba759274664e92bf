#include "analysis/page/lane_columns.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "analysis/page/binary_text.hpp"
#include "analysis/page/transfer_columns.hpp"
#include "tests/analysis/page/lane_trace.hpp"
#include "tests/analysis/timeline/fused_trace.hpp"
#include "tests/analysis/timeline/one_f_one_b_trace.hpp"

namespace pipewright::analysis {
namespace {

using Placed = std::vector<std::vector<PlacedTransfer>>;

Placed placed(const trace::Trace& trace) {
  return transfers_by_taker(trace, TraceIndex(trace), pass_places(trace));
}

std::vector<std::vector<const trace::PassRow*>> by_device(const trace::Trace& trace) {
  std::vector<std::vector<const trace::PassRow*>> devices(trace.devices.size());
  for (const trace::PassRow& pass : trace.passes) devices.at(pass.device).push_back(&pass);
  return devices;
}

}  // namespace

TEST_CASE("transfers are between the pass that made the tensor and the one that takes it") {
  const trace::Trace trace = test::lane_trace();
  const auto passes = by_device(trace);
  const Placed devices = placed(trace);
  std::size_t found = 0;
  for (std::size_t device = 0; device < devices.size(); ++device)
    for (const PlacedTransfer& transfer : devices[device]) {
      ++found;
      REQUIRE(transfer.taker != no_place);
      REQUIRE(transfer.maker != no_place);
      const trace::PassRow& taker = *passes[device][static_cast<std::size_t>(transfer.taker)];
      const trace::PassRow& maker =
          *passes[transfer.row->source][static_cast<std::size_t>(transfer.maker)];
      CHECK(maker.end == transfer.row->posted);
      CHECK(taker.ready == transfer.row->end);
      CHECK(maker.stage == transfer.row->stage);
      CHECK(maker.microbatch == taker.microbatch);
      CHECK(maker.kind == taker.kind);
    }
  CHECK(found == trace.transfers.size());
}

TEST_CASE("a transfer that no pass takes, or none made, stays without") {
  trace::Trace trace = test::lane_trace();
  const auto gone = [](const trace::PassRow& pass) {
    return pass.device == 1 && pass.microbatch == 3 && pass.kind == trace::PassKind::forward;
  };
  std::erase_if(trace.passes, gone);
  std::size_t untaken = 0;
  std::size_t unmade = 0;
  for (const auto& transfers : placed(trace)) {
    const auto taken = [](const PlacedTransfer& one) { return one.taker != no_place; };
    CHECK(std::is_partitioned(transfers.begin(), transfers.end(), std::not_fn(taken)));
    for (const PlacedTransfer& one : transfers) {
      untaken += taken(one) ? 0U : 1U;
      unmade += taken(one) && one.maker == no_place ? 1U : 0U;
    }
  }
  CHECK(untaken == 1);
  CHECK(unmade == 1);
}

TEST_CASE("lanes have the same bytes whatever the order of transfers") {
  trace::Trace trace = test::lane_trace();
  const std::string bytes = lane_columns(trace, 1e12);
  std::shuffle(trace.transfers.begin(), trace.transfers.end(), std::mt19937(1));
  CHECK(lane_columns(trace, 1e12) == bytes);
}

TEST_CASE("lanes of traces that have nothing but passes, or nothing at all") {
  CHECK_FALSE(lane_columns(test::one_f_one_b_trace({}), 1e12).empty());
  CHECK_FALSE(lane_columns(test::fused_trace(), 1e12).empty());
  // The counts of stages and paths and the length of the critical path.
  CHECK(lane_columns({}, 1e12) == std::string(3, '\0'));
}

TEST_CASE("the lanes of a periodic run take less than a byte a pass") {
  const trace::Trace run = test::lane_trace(2048);
  CHECK(gzip(lane_columns(run, 1e10)).size() < run.passes.size());
}

}  // namespace pipewright::analysis
