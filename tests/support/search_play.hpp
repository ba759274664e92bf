#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "sim/search/coordinator.hpp"
#include "support/random.hpp"
#include "support/search_world.hpp"

namespace pipewright::tests {

// Returns the candidates of an invented search space in batches, except those whose results are
// already known.
search::Candidates candidates_of(const SearchWorld& world, std::set<std::uint64_t> known = {});

// Properties of simulated workers, which work in virtual time.
struct Crowd {
  std::size_t workers = 1;
  double death = 0;     // Probability that a worker is lost, whatever its task.
  double slowness = 0;  // Probability that a task takes very long.
};

// Outcome of a simulated search: its results, how often each candidate was handed out to be
// simulated, and the virtual time that it took.
struct SimulatedSearch {
  analysis::SearchRun run;
  std::vector<analysis::CandidateRow> final;  // In the order of their reports.
  std::map<std::uint64_t, int> given_to_simulate;
  double seconds = 0;
};

// Simulates a search of an invented space by these workers in virtual time, for at most `max_steps`
// answers.
SimulatedSearch play(const SearchWorld& world, const Crowd& crowd, Random& random,
                     search::Target target = {}, std::size_t max_steps = ~std::size_t{0});

std::size_t count(const analysis::SearchRun& run, analysis::Outcome outcome);

// Returns the candidates that a search reports: the best and the runner-up, if any, and the Pareto
// fronts.
std::vector<std::uint64_t> answers(const analysis::SearchRun& run, bool fronts = true);

}  // namespace pipewright::tests
