#include "analysis/report/search/candidate_figures.hpp"

#include <string>
#include <type_traits>
#include <vector>

#include <catch2/catch.hpp>

#include "analysis/report/search/search_runs.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;

namespace {

double value_of(const CandidateRow& row, const CandidateFigure& figure) {
  return visit_figure(row, figure, [](auto value) { return static_cast<double>(value); });
}

// Returns a row whose figures are `first`, `first` + 1 and so on, in the order of their table.
CandidateRow numbered_row(double first) {
  CandidateRow row;
  for (const CandidateFigure& figure : candidate_figures)
    visit_figure(row, figure, [&](auto& value) {
      CHECK(value == 0);  // the member belongs to no other figure
      value = static_cast<std::remove_reference_t<decltype(value)>>(first++);
    });
  return row;
}

}  // namespace

// Results files, CSV, JSON and the messages of workers have these names. Programs of users read
// them, so a name never changes, and new figures come last.
TEST_CASE("figures have the names that files have") {
  std::vector<std::string> keys;
  for (const CandidateFigure& figure : candidate_figures) keys.emplace_back(figure.key);
  CHECK(keys == std::vector<std::string>{"gpus",
                                         "samples",
                                         "tokens",
                                         "model_flop",
                                         "full_attention_flop",
                                         "peak_flop_per_s",
                                         "peak_bytes",
                                         "capacity_bytes",
                                         "bound_s",
                                         "time_s",
                                         "bubble_ratio",
                                         "span_bubble_s",
                                         "compute_s",
                                         "in_passes_s",
                                         "p2p_s",
                                         "gradients_s",
                                         "weights_s",
                                         "optimizer_s",
                                         "idle_s",
                                         "lost_time_ratio"});
}

TEST_CASE("every figure has a member of its own") {
  const CandidateRow row = numbered_row(1);
  double number = 1;
  for (const CandidateFigure& figure : candidate_figures) {
    INFO(figure.key);
    CHECK(value_of(row, figure) == number++);
  }
  CHECK(row.work.gpus == 1);
}

TEST_CASE("a simulation replaces the figures that it gives and keeps the others") {
  const CandidateRow planned = numbered_row(1);
  const CandidateRow answer = numbered_row(1001);
  CandidateRow row = planned;
  copy_simulated_figures(row, answer);
  for (const CandidateFigure& figure : candidate_figures) {
    INFO(figure.key);
    CHECK(value_of(row, figure) == value_of(figure.is_simulated ? answer : planned, figure));
  }
  CHECK(row.work.tokens == planned.work.tokens);
  CHECK(row.bound_s == planned.bound_s);
  CHECK(row.time_s == answer.time_s);
  CHECK(row.peak_bytes == answer.peak_bytes);
}
