#pragma once

#include <cstdint>
#include <optional>

#include "analysis/trace/rows.hpp"
#include "schedules/pass.hpp"
#include "sim/execution/ledger.hpp"

namespace pipewright::execution {

// Traces have their own enumeration of kinds of passes, since files store its numbers. Both
// enumerations have the same kinds in the same order.
constexpr bool same_kind(trace::PassKind traced, schedules::PassKind scheduled) {
  return static_cast<int>(traced) == static_cast<int>(scheduled);
}
static_assert(trace::pass_kinds == schedules::pass_kinds);
static_assert(same_kind(trace::PassKind::forward, schedules::PassKind::forward));
static_assert(same_kind(trace::PassKind::input_grad, schedules::PassKind::input_grad));
static_assert(same_kind(trace::PassKind::weight_grad, schedules::PassKind::weight_grad));
static_assert(same_kind(trace::PassKind::backward, schedules::PassKind::backward));
static_assert(same_kind(trace::PassKind::recompute, schedules::PassKind::recompute));
static_assert(same_kind(trace::PassKind::output, schedules::PassKind::output));
static_assert(same_kind(trace::PassKind::output_grad, schedules::PassKind::output_grad));

constexpr trace::PassKind kind_in_trace(schedules::PassKind kind) {
  return static_cast<trace::PassKind>(kind);
}
constexpr schedules::PassKind kind_in_schedule(trace::PassKind kind) {
  return static_cast<schedules::PassKind>(kind);
}

// Converts the passes of one device, with the times that an engine computed, to trace rows, and
// reports every change of the device's memory.
class Recorder {
 public:
  Recorder(const Job& job, std::uint32_t device, trace::Sink& sink);

  // Records a pass. Call it in the device's order; for a fused pair, with both passes one after the
  // other.
  void record(const schedules::Pass& pass, const schedules::PassSpan& span);
  // Record that the gathered weights of a stage are allocated, or freed, as in Ledger.
  void hold_weights(std::uint32_t stage, double time);
  void drop_weights(std::uint32_t stage, double time);
  // Records the memory of the optimizer's step.
  void step(double start, double end);
  // Records a change of the gathered stages of a pipeline.
  void change_weights(const schedules::UnshardStep& step, double time);

 private:
  void count(const schedules::Pass& pass, double start, double end);
  void report(trace::MemoryCategory category, double time);

  const Job& job_;
  std::uint32_t device_;
  trace::Sink& sink_;
  Ledger ledger_;
  std::optional<schedules::Pass> first_of_pair_;
};

}  // namespace pipewright::execution
