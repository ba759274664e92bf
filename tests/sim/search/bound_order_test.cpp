#include "sim/search/bound_order.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using analysis::Basis;
using analysis::CandidateRow;
using analysis::Outcome;
using search::BoundOrder;

namespace {

constexpr double no_limit = 1e12;  // activities

CandidateRow row(Outcome outcome, Basis basis, double seconds, double activities = 0) {
  CandidateRow row{.outcome = outcome, .work = {.gpus = 1, .tokens = 1}};
  row.basis = basis;
  row.bound_s = seconds;
  row.activities = activities;
  if (outcome == Outcome::simulated) row.time_s = seconds;
  return row;
}

// A run with these rows, and their order.
struct Ordered {
  explicit Ordered(std::vector<CandidateRow> rows) : order(run, {.front = false}) {
    run.groups.resize(1);
    for (CandidateRow& candidate : rows) {
      candidate.candidate = run.rows.size();
      run.rows.push_back(candidate);
    }
    for (std::size_t i = 0; i < run.rows.size(); ++i) order.add(i);
  }
  analysis::SearchRun run;
  BoundOrder order;
};

}  // namespace

TEST_CASE("the first candidates to try are those whose order of passes is known", "[bounds]") {
  // The bound of the second row is lower, but holds for any order of passes.
  Ordered rows({row(Outcome::open, Basis::network, 3, 100), row(Outcome::open, Basis::network, 1),
                row(Outcome::open, Basis::passes, 0.5), row(Outcome::open, Basis::order, 4, 50)});
  CHECK(rows.order.next_to_try(no_limit) == 0);
  CHECK(rows.order.next_to_try(70) == 3);
  CHECK(rows.order.next_to_try(20) == std::nullopt);
  CHECK(rows.order.next_to_order() == 1);
  CHECK(rows.order.next() == 2);
}

TEST_CASE("candidates are tried only if their bounds promise a better time", "[bounds]") {
  const auto tried = [](Basis basis, double seconds) {
    Ordered rows(
        {row(Outcome::simulated, Basis::order, 10), row(Outcome::open, basis, seconds, 1)});
    return rows.order.next_to_try(no_limit).has_value();
  };
  CHECK(tried(Basis::order, 9.7));
  CHECK_FALSE(tried(Basis::order, 9.9));
  CHECK(tried(Basis::network, 8.9));
  CHECK_FALSE(tried(Basis::network, 9.1));
  // It still needs the bound of its order.
  Ordered near(
      {row(Outcome::simulated, Basis::order, 10), row(Outcome::open, Basis::network, 9.1, 1)});
  CHECK(near.order.next_to_order() == 1);
  CHECK(near.order.least_open() < near.order.best_cost());
}
