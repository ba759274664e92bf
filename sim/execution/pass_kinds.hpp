#pragma once

#include "analysis/trace/rows.hpp"
#include "schedules/pass.hpp"

namespace pipewright::execution {

// The trace is a format of its own, with numbers for kinds of passes that files keep; schedules
// know nothing of it. Both have the same kinds in the same order.
constexpr bool same_kind(trace::PassKind traced, schedules::PassKind scheduled) {
  return static_cast<int>(traced) == static_cast<int>(scheduled);
}
static_assert(trace::pass_kinds == schedules::pass_kinds);
static_assert(same_kind(trace::PassKind::forward, schedules::PassKind::forward));
static_assert(same_kind(trace::PassKind::input_grad, schedules::PassKind::input_grad));
static_assert(same_kind(trace::PassKind::weight_grad, schedules::PassKind::weight_grad));
static_assert(same_kind(trace::PassKind::backward, schedules::PassKind::backward));
static_assert(same_kind(trace::PassKind::recompute, schedules::PassKind::recompute));

constexpr trace::PassKind kind_in_trace(schedules::PassKind kind) {
  return static_cast<trace::PassKind>(kind);
}
constexpr schedules::PassKind kind_in_schedule(trace::PassKind kind) {
  return static_cast<schedules::PassKind>(kind);
}

}  // namespace pipewright::execution
