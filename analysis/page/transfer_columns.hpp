#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/page/varints.hpp"
#include "analysis/why/trace_index.hpp"

namespace pipewright::analysis {

// Where passes stand among those of their device.
inline constexpr std::int64_t no_place = -1;
std::vector<std::int64_t> pass_places(const trace::Trace& trace);

// A transfer with the places of the passes that it is between.
struct PlacedTransfer {
  const trace::TransferRow* row;
  std::int64_t maker = no_place;
  std::int64_t taker = no_place;
};

// Of each device those that it receives, by the place of the pass that takes them.
std::vector<std::vector<PlacedTransfer>> transfers_by_taker(
    const trace::Trace& trace, const TraceIndex& index, const std::vector<std::int64_t>& places);

void put_transfers(std::string& bytes, const trace::Trace& trace,
                   const std::vector<std::vector<PlacedTransfer>>& transfers, const Ticks& ticks);

}  // namespace pipewright::analysis
