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

// All of a world's, in batches, but for those that are known.
search::Candidates candidates_of(const SearchWorld& world, std::set<std::uint64_t> known = {});

// Workers that live in virtual time.
struct Crowd {
  std::size_t workers = 1;
  double death = 0;     // chance of a worker to be lost with a task, for no reason of the task's
  double slowness = 0;  // chance of a task to take very long
};

struct Played {
  analysis::SearchRun run;
  std::vector<analysis::CandidateRow> final;  // in the order in which they were told
  std::map<std::uint64_t, int> given_to_simulate;
  double seconds = 0;
};

// A search of the world by the crowd, for so many answers at the most.
Played play(const SearchWorld& world, const Crowd& crowd, Random& random,
            search::Target target = {}, std::size_t most_steps = ~std::size_t{0});

std::size_t count(const analysis::SearchRun& run, analysis::Outcome outcome);

// What a search is for, by number: the best if there is one, and the fronts.
std::vector<std::uint64_t> answers(const analysis::SearchRun& run, bool fronts = true);

}  // namespace pipewright::tests
