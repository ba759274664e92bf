#include "support/search_world.hpp"

#include <algorithm>

namespace pipewright::tests {

using analysis::CandidateRow;
using analysis::Objective;
using analysis::Outcome;

CandidateRow SearchWorld::assessed(std::uint64_t candidate, analysis::Basis basis) const {
  CandidateRow row = simulated.at(candidate);
  row.time_s = 0;
  const bool is_rough = basis != analysis::Basis::order && candidate % 5 != 0;
  row.work.lost_part *= candidate % 2 == 0 ? 1 : 0.5;  // A lower bound of the lost part.
  if (row.outcome == Outcome::simulated) row.outcome = Outcome::open;
  if (!is_rough || row.outcome == Outcome::illegal) return row;
  if (row.outcome == Outcome::does_not_fit) {
    if (candidate % 3 == 0) return row;
    row.note.clear();
    row.bound_s = 1;
  }
  row.outcome = Outcome::open;
  row.basis = basis;
  row.bound_s *= basis == analysis::Basis::network ? 0.9 : 0.6;
  row.peak_bytes =
      std::max<std::uint64_t>(1, row.peak_bytes * (basis == analysis::Basis::network ? 3 : 2) / 4);
  return row;
}

namespace {

Objective random_objective(Random& random) {
  Objective objective;
  objective.kind = static_cast<Objective::Kind>(random.whole(0, 5));
  objective.tokens = 1e9;
  objective.price_per_gpu_hour = 2;
  objective.floor = random.real(0, 30);
  return objective;
}

CandidateRow random_row(Random& random, std::uint64_t candidate, std::uint32_t groups) {
  CandidateRow row;
  row.candidate = candidate;
  row.group = random.whole(0, groups - 1);
  const std::uint32_t luck = random.whole(0, 9);
  row.outcome = luck == 0   ? Outcome::illegal
                : luck == 1 ? Outcome::does_not_fit
                            : Outcome::simulated;
  if (row.outcome != Outcome::simulated) row.note = "so it is";
  if (row.outcome == Outcome::illegal) return row;
  row.work = {.gpus = 8 * random.whole(1, 2),
              .samples = 4,
              .tokens = 100,
              .model_flop = 1e12,
              .full_attention_flop = 1.1e12,
              .peak_flops = 1e13};
  row.peak_bytes = random.whole(1, 12);
  row.capacity_bytes = 10;
  if (row.outcome == Outcome::does_not_fit) return row;
  row.bound_s = 0.25 * random.whole(4, 60);
  row.time_s = row.bound_s * (random.flip() ? 1 : random.real(1, 1.5));
  if (random.flip()) row.time_s *= 1 - 1e-12;  // As by rounding of sums.
  row.work.lost_part = 0.125 * random.whole(0, 3);
  return row;
}

}  // namespace

SearchWorld random_world(Random& random, std::uint32_t candidates) {
  SearchWorld world;
  world.groups = random.whole(1, 3);
  world.of_layout = random.whole(1, 7);
  world.is_counted = random.whole(0, 2) > 0;
  world.objective = random_objective(random);
  for (std::uint32_t i = 0; i < candidates; ++i)
    world.simulated.push_back(random_row(random, i, world.groups));
  world.deadly.resize(candidates);
  world.deadly_to_assess.resize(candidates);
  return world;
}

analysis::SearchRun exhaustive_search(const SearchWorld& world) {
  analysis::SearchRun run;
  run.groups.resize(world.groups);
  run.objective = world.objective;
  for (const CandidateRow& row : world.simulated)
    if (!world.deadly[row.candidate] && !world.deadly_to_assess[row.candidate])
      run.rows.push_back(row);
  return run;
}

}  // namespace pipewright::tests
