#include "analysis/report/search/candidate_figures.hpp"

#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "analysis/report/search/search_runs.hpp"

using namespace pipewright::analysis;
using namespace pipewright::tests;

TEST_CASE("every figure has a key and a member of its own") {
  std::set<std::string> keys;
  CandidateRow row;
  double next = 1;
  for (const CandidateFigure& figure : candidate_figures) {
    keys.insert(figure.key);
    visit_figure(row, figure, [&](auto& value) {
      CHECK(value == 0);
      value = static_cast<std::remove_reference_t<decltype(value)>>(next++);
    });
  }
  CHECK(keys.size() == candidate_figures.size());
  CHECK(row.work.gpus == 1);
  CHECK(row.bubble_ratio == 11);
  CHECK(row.parts.compute == 13);
}

TEST_CASE("a simulation replaces the figures that it gives and keeps the others") {
  const CandidateRow answer = simulated_row(3, 2, 1024);
  CandidateRow row;
  row.work = {.gpus = 16, .samples = 5, .tokens = 7, .lost_part = 0.5};
  row.bound_s = 1.5;
  row.peak_bytes = 512;
  copy_simulated_figures(row, answer);
  CHECK(row.work.gpus == 16);
  CHECK(row.work.tokens == 7);
  CHECK(row.bound_s == 1.5);
  CHECK(row.work.lost_part == 0);
  CHECK(row.peak_bytes == 1024);
  CHECK(row.capacity_bytes == answer.capacity_bytes);
  CHECK(row.time_s == 2);
  CHECK(row.bubble_ratio == answer.bubble_ratio);
  CHECK(row.span_bubble_s == answer.span_bubble_s);
  CHECK(row.parts.idle == answer.parts.idle);
}
