#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "analysis/report/search/rows.hpp"
#include "analysis/trace/tables.hpp"

// The table `candidate_figures` declares each figure of a candidate once. Messages of workers, the
// journal, results files, CSV, JSON and help contain all figures, under their keys and in the order
// of this table. Tables for terminals and the page contain those with a heading or a page name.
namespace pipewright::analysis {

// Pointer to the member that holds a figure, in CandidateRow, IterationWork or TimeParts.
using FigureMember =
    std::variant<std::uint64_t CandidateRow::*, double CandidateRow::*,
                 std::uint64_t IterationWork::*, double IterationWork::*, double TimeParts::*>;

// Form in which tables and the page write a figure: a whole number, a number with a prefix such as
// "k", the same per second, or with the units of bytes, time or percent.
enum class FigureForm : std::uint8_t { count, amount, rate, bytes, seconds, ratio };

// Names of the forms in the data of the page, in the order of FigureForm.
inline constexpr std::array<const char*, 6> figure_form_names{"count", "amount",  "rate",
                                                              "bytes", "seconds", "ratio"};

struct FigureUnit {
  FigureForm form;
  const char* item = "";  // what an amount or a rate counts: "tokens"

  // Returns whether the iteration time determines the figure.
  constexpr bool depends_on_time() const {
    return form == FigureForm::seconds || form == FigureForm::rate;
  }
};

// Use of a figure as the vertical axis of the page's plot, and the better end of the axis.
enum class PageAxis : std::uint8_t { none, more_is_better, less_is_better };

struct CandidateFigure {
  const char* key;  // in files, with the unit; a value of 0 means that the figure is unknown
  FigureUnit unit;
  FigureMember member;
  const char* help;               // definition, in help and in the glossary of the page
  bool is_simulated = false;      // a result of the simulation
  const char* heading = nullptr;  // in tables for terminals; null: no column there
  const char* page = nullptr;     // name on the page: "bubble ratio"; null: not there
  PageAxis axis = PageAxis::none;
  bool can_be_zero = false;  // the page shows a simulated value of 0
  bool is_new = false;       // older results files of the same version lack the column

  constexpr trace::ColumnType type() const {
    return std::visit(
        []<class Part, class Value>(Value Part::*) { return trace::column_type<Value>(); }, member);
  }
};

inline constexpr auto candidate_figures = std::to_array<CandidateFigure>({
    {.key = "gpus",
     .unit = {FigureForm::count},
     .member = &IterationWork::gpus,
     .help = "GPUs in use"},
    {.key = "samples",
     .unit = {FigureForm::amount, "samples"},
     .member = &IterationWork::samples,
     .help = "samples of an iteration"},
    {.key = "tokens",
     .unit = {FigureForm::amount, "tokens"},
     .member = &IterationWork::tokens,
     .help = "tokens of an iteration"},
    {.key = "model_flop",
     .unit = {FigureForm::amount, "FLOP"},
     .member = &IterationWork::model_flop,
     .help = "FLOP of an iteration, forward and backward, without recomputation, causal attention "
             "counted once"},
    {.key = "full_attention_flop",
     .unit = {FigureForm::amount, "FLOP"},
     .member = &IterationWork::full_attention_flop,
     .help = "the same with the full square of attention scores"},
    {.key = "peak_flop_per_s",
     .unit = {FigureForm::rate, "FLOP"},
     .member = &IterationWork::peak_flops,
     .help = "peak FLOP/s of all GPUs in use together"},
    {.key = "peak_bytes",
     .unit = {FigureForm::bytes},
     .member = &CandidateRow::peak_bytes,
     .help = "peak memory of the device that fills the largest share of its capacity; before the "
             "simulation of a schedule 'searched', the least peak of any order",
     .is_simulated = true},
    {.key = "capacity_bytes",
     .unit = {FigureForm::bytes},
     .member = &CandidateRow::capacity_bytes,
     .help = "memory capacity of that device",
     .is_simulated = true},
    {.key = "bound_s",
     .unit = {FigureForm::seconds},
     .member = &CandidateRow::bound_s,
     .help = "lower bound of the iteration time"},
    {.key = "time_s",
     .unit = {FigureForm::seconds},
     .member = &CandidateRow::time_s,
     .help = "iteration time",
     .is_simulated = true},
    {.key = "bubble_ratio",
     .unit = {FigureForm::ratio},
     .member = &CandidateRow::bubble_ratio,
     .help = "share of all device time in which no pass runs",
     .is_simulated = true,
     .heading = "bubble",
     .page = "bubble ratio",
     .can_be_zero = true},
    {.key = "span_bubble_s",
     .unit = {FigureForm::seconds},
     .member = &CandidateRow::span_bubble_s,
     .help = "longest time that a device runs no pass between its first and its last",
     .is_simulated = true},
    {.key = "compute_s",
     .unit = {FigureForm::seconds},
     .member = &TimeParts::compute,
     .help = "part of time_s: passes, without their collectives; this and the next parts are means "
             "over the devices of a replica and add up to time_s",
     .is_simulated = true},
    {.key = "in_passes_s",
     .unit = {FigureForm::seconds},
     .member = &TimeParts::in_passes,
     .help = "part of time_s: tensor, context and expert collectives",
     .is_simulated = true},
    {.key = "p2p_s",
     .unit = {FigureForm::seconds},
     .member = &TimeParts::p2p,
     .help = "part of time_s: waits for transfers between stages",
     .is_simulated = true},
    {.key = "gradients_s",
     .unit = {FigureForm::seconds},
     .member = &TimeParts::gradients,
     .help = "part of time_s: waits for the data-parallel reduction and tied embeddings",
     .is_simulated = true},
    {.key = "weights_s",
     .unit = {FigureForm::seconds},
     .member = &TimeParts::weights,
     .help = "part of time_s: waits for the gathering of sharded weights",
     .is_simulated = true},
    {.key = "optimizer_s",
     .unit = {FigureForm::seconds},
     .member = &TimeParts::optimizer,
     .help = "part of time_s: optimizer step",
     .is_simulated = true},
    {.key = "idle_s",
     .unit = {FigureForm::seconds},
     .member = &TimeParts::idle,
     .help = "part of time_s: bubble and all other waits",
     .is_simulated = true},
    {.key = "lost_time_ratio",
     .unit = {FigureForm::ratio},
     .member = &IterationWork::lost_part,
     .help = "share of the time without lasting training, of the objective tokens_a_day; a lower "
             "bound before the simulation",
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
