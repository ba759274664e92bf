#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/page/transfer_columns.hpp"
#include "analysis/why/critical_path.hpp"
#include "analysis/why/idle.hpp"

namespace pipewright::analysis {

void put_idle(std::string& bytes, const trace::Trace& trace, std::span<const Idle> idle,
              const std::vector<std::vector<PlacedTransfer>>& transfers, const Ticks& ticks);

void put_critical_path(std::string& bytes, std::span<const CriticalPiece> path,
                       const std::vector<std::int64_t>& places, const Ticks& ticks);

}  // namespace pipewright::analysis
