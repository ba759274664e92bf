#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "analysis/report/search/rows.hpp"
#include "analysis/trace/tables.hpp"

// The table `candidate_figures` declares each figure of a candidate once. Messages of workers, the
// journal, results files, CSV and JSON contain all figures, under their keys and in the order of
// this table. Tables for terminals and the page contain those with a heading or a page name.
namespace pipewright::analysis {

// Pointer to the member that holds a figure, in CandidateRow, IterationWork or TimeParts.
using FigureMember =
    std::variant<std::uint64_t CandidateRow::*, double CandidateRow::*,
                 std::uint64_t IterationWork::*, double IterationWork::*, double TimeParts::*>;

enum class FigureUnit : std::uint8_t { count, flop, flop_per_s, bytes, seconds, ratio };

struct CandidateFigure {
  const char* key;  // in files, with the unit; a value of 0 means that the figure is unknown
  FigureUnit unit;
  FigureMember member;
  bool is_simulated = false;      // a result of the simulation
  const char* heading = nullptr;  // in tables for terminals; null: no column there
  const char* page = nullptr;     // name among the columns of the page; null: no column there
  bool is_new = false;            // older results files of the same version lack the column

  constexpr trace::ColumnType type() const {
    return std::visit(
        []<class Part, class Value>(Value Part::*) { return trace::column_type<Value>(); }, member);
  }
};

inline constexpr auto candidate_figures = std::to_array<CandidateFigure>({
    {.key = "gpus", .unit = FigureUnit::count, .member = &IterationWork::gpus},
    {.key = "samples", .unit = FigureUnit::count, .member = &IterationWork::samples},
    {.key = "tokens", .unit = FigureUnit::count, .member = &IterationWork::tokens},
    {.key = "model_flop", .unit = FigureUnit::flop, .member = &IterationWork::model_flop},
    {.key = "full_attention_flop",
     .unit = FigureUnit::flop,
     .member = &IterationWork::full_attention_flop},
    {.key = "peak_flop_per_s",
     .unit = FigureUnit::flop_per_s,
     .member = &IterationWork::peak_flops},
    {.key = "peak_bytes",
     .unit = FigureUnit::bytes,
     .member = &CandidateRow::peak_bytes,
     .is_simulated = true},
    {.key = "capacity_bytes",
     .unit = FigureUnit::bytes,
     .member = &CandidateRow::capacity_bytes,
     .is_simulated = true},
    {.key = "bound_s", .unit = FigureUnit::seconds, .member = &CandidateRow::bound_s},
    {.key = "time_s",
     .unit = FigureUnit::seconds,
     .member = &CandidateRow::time_s,
     .is_simulated = true},
    {.key = "bubble_ratio",
     .unit = FigureUnit::ratio,
     .member = &CandidateRow::bubble_ratio,
     .is_simulated = true,
     .heading = "bubble",
     .page = "bubble"},
    {.key = "span_bubble_s",
     .unit = FigureUnit::seconds,
     .member = &CandidateRow::span_bubble_s,
     .is_simulated = true,
     .page = "spanBubble"},
    {.key = "compute_s",
     .unit = FigureUnit::seconds,
     .member = &TimeParts::compute,
     .is_simulated = true},
    {.key = "in_passes_s",
     .unit = FigureUnit::seconds,
     .member = &TimeParts::in_passes,
     .is_simulated = true},
    {.key = "p2p_s", .unit = FigureUnit::seconds, .member = &TimeParts::p2p, .is_simulated = true},
    {.key = "gradients_s",
     .unit = FigureUnit::seconds,
     .member = &TimeParts::gradients,
     .is_simulated = true},
    {.key = "weights_s",
     .unit = FigureUnit::seconds,
     .member = &TimeParts::weights,
     .is_simulated = true},
    {.key = "optimizer_s",
     .unit = FigureUnit::seconds,
     .member = &TimeParts::optimizer,
     .is_simulated = true},
    {.key = "idle_s",
     .unit = FigureUnit::seconds,
     .member = &TimeParts::idle,
     .is_simulated = true},
    {.key = "lost_time_ratio",
     .unit = FigureUnit::ratio,
     .member = &IterationWork::lost_part,
     .is_simulated = true,
     .is_new = true},
});

// Calls visit(value) with a reference to a figure of the row, a double or a std::uint64_t, and
// returns the result. `Row` is CandidateRow or const CandidateRow.
template <class Row, class Visit>
decltype(auto) visit_figure(Row& row, const CandidateFigure& figure, Visit&& visit) {
  return std::visit(
      [&]<class Part, class Value>(Value Part::*member) -> decltype(auto) {
        if constexpr (std::is_same_v<Part, IterationWork>)
          return visit(row.work.*member);
        else if constexpr (std::is_same_v<Part, TimeParts>)
          return visit(row.parts.*member);
        else
          return visit(row.*member);
      },
      figure.member);
}

// Returns true if a figure is known: any value but 0. Negative zero counts as known, so that every
// value that differs from the default in a bit is written.
template <class Value>
bool is_known_figure(Value value) {
  return std::bit_cast<std::uint64_t>(value) != 0;
}

// Copies the figures that only a simulation gives from `answer`, its result, to the row of the
// candidate.
inline void copy_simulated_figures(CandidateRow& row, const CandidateRow& answer) {
  for (const CandidateFigure& figure : candidate_figures)
    if (figure.is_simulated)
      visit_figure(row, figure, [&](auto& value) {
        value = visit_figure(answer, figure, [](auto simulated) {
          return static_cast<std::remove_reference_t<decltype(value)>>(simulated);
        });
      });
}

}  // namespace pipewright::analysis
