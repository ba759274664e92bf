#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "analysis/report/search/rows.hpp"
#include "analysis/trace/tables.hpp"

// What journals, results files, CSV and JSON agree on.
namespace pipewright::analysis {

// By Outcome; the names stand in files, the words are for people.
inline constexpr std::array<const char*, 6> outcome_names{
    "open", "illegal", "does_not_fit", "bounded_away", "simulated", "failed"};
inline constexpr std::array<const char*, 6> outcome_words{
    "open", "illegal", "does not fit", "bounded away", "simulated", "failed"};

// By Objective::Kind, in files.
inline constexpr std::array<const char*, 6> objective_names{"throughput", "mfu",    "time_to_train",
                                                            "price",      "memory", "tokens_a_day"};

// The figures of a row, under names that carry their units. 0 where they are not known.
#define PIPEWRIGHT_FIGURE(name, type, member) \
  trace::Column { name, trace::ColumnType::type, offsetof(CandidateRow, member) }
inline constexpr std::array figure_columns{
    PIPEWRIGHT_FIGURE("gpus", u64, work.gpus),
    PIPEWRIGHT_FIGURE("samples", f64, work.samples),
    PIPEWRIGHT_FIGURE("tokens", f64, work.tokens),
    PIPEWRIGHT_FIGURE("model_flop", f64, work.model_flop),
    PIPEWRIGHT_FIGURE("full_attention_flop", f64, work.full_attention_flop),
    PIPEWRIGHT_FIGURE("peak_flop_per_s", f64, work.peak_flops),
    PIPEWRIGHT_FIGURE("peak_bytes", u64, peak_bytes),
    PIPEWRIGHT_FIGURE("capacity_bytes", u64, capacity_bytes),
    PIPEWRIGHT_FIGURE("bound_s", f64, bound_s),
    PIPEWRIGHT_FIGURE("time_s", f64, time_s),
    PIPEWRIGHT_FIGURE("bubble_ratio", f64, bubble_ratio),
    PIPEWRIGHT_FIGURE("span_bubble_s", f64, span_bubble_s),
    PIPEWRIGHT_FIGURE("compute_s", f64, parts.compute),
    PIPEWRIGHT_FIGURE("in_passes_s", f64, parts.in_passes),
    PIPEWRIGHT_FIGURE("p2p_s", f64, parts.p2p),
    PIPEWRIGHT_FIGURE("gradients_s", f64, parts.gradients),
    PIPEWRIGHT_FIGURE("weights_s", f64, parts.weights),
    PIPEWRIGHT_FIGURE("optimizer_s", f64, parts.optimizer),
    PIPEWRIGHT_FIGURE("idle_s", f64, parts.idle),
    PIPEWRIGHT_FIGURE("lost_time_ratio", f64, work.lost_part)};
#undef PIPEWRIGHT_FIGURE

// A figure of a row, as its column's type says: Value is std::uint64_t or double.
template <class Value>
Value& figure(CandidateRow& row, const trace::Column& column) {
  return *reinterpret_cast<Value*>(reinterpret_cast<char*>(&row) + column.offset);
}
template <class Value>
const Value& figure(const CandidateRow& row, const trace::Column& column) {
  return *reinterpret_cast<const Value*>(reinterpret_cast<const char*>(&row) + column.offset);
}

// All figures are of eight bytes, which can be taken and put without a look at the type.
inline std::uint64_t bits(const CandidateRow& row, const trace::Column& column) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const char*>(&row) + column.offset, sizeof value);
  return value;
}
inline void set_bits(CandidateRow& row, const trace::Column& column, std::uint64_t value) {
  std::memcpy(reinterpret_cast<char*>(&row) + column.offset, &value, sizeof value);
}

}  // namespace pipewright::analysis
