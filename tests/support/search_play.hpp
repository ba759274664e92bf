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

// Returns the candidates of a world in batches, without the known ones.
search::Candidates candidates_of(const SearchWorld& world, std::set<std::uint64_t> known = {});

// Simulated workers in virtual time.
struct Crowd {
  std::size_t workers = 1;
  double death = 0;     // Probability that a worker is lost, whatever its task.
  double slowness = 0;  // Probability that a task takes very long.
};

// Result of a simulated search.
struct Played {
  analysis::SearchRun run;
  std::vector<analysis::CandidateRow> final;  // In the order of their reports.
  std::map<std::uint64_t, int> given_to_simulate;
  double seconds = 0;
};

// Simulates a search of the world by the crowd, for at most `max_steps` answers.
Played play(const SearchWorld& world, const Crowd& crowd, Random& random,
            search::Target target = {}, std::size_t max_steps = ~std::size_t{0});

std::size_t count(const analysis::SearchRun& run, analysis::Outcome outcome);

// Returns the answers of a search: the best candidate and runner-up, if any, and the fronts.
std::vector<std::uint64_t> answers(const analysis::SearchRun& run, bool fronts = true);

}  // namespace pipewright::tests
