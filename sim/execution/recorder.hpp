#pragma once

#include <cstdint>

#include "sim/execution/ledger.hpp"

namespace pipewright::execution {

// One device's book: turns passes, as either engine finds their times, into rows, and tells of its
// ledger at every change.
class Recorder {
 public:
  Recorder(const Job& job, std::uint32_t device, trace::Sink& sink);

  // Passes of the device come in order.
  void record(const schedules::Pass& pass, const schedules::PassSpan& span);
  // ZeRO-3: the whole weights of a stage come, and go.
  void hold_weights(std::uint32_t stage, double time);
  void drop_weights(std::uint32_t stage, double time);

 private:
  void report(trace::MemoryCategory category, double time);

  const Job& job_;
  std::uint32_t device_;
  trace::Sink& sink_;
  Ledger ledger_;
};

}  // namespace pipewright::execution
