#include "analysis/report/search/made_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "analysis/report/search/search_runs.hpp"

namespace pipewright::tests {

using namespace analysis;

namespace {

constexpr double gib = 1024.0 * 1024 * 1024;
constexpr double gpus = 1024;
constexpr double tokens = 1536 * 2048;
constexpr double flop = 6 * 175e9 * tokens;
constexpr double peak = gpus * 312e12;

std::vector<std::string> powers(std::uint32_t count) {
  std::vector<std::string> texts;
  for (std::uint32_t i = 0; i < count; ++i) texts.push_back(fmt::format("{}", 1U << i));
  return texts;
}

struct Layout {
  double group, tp, pp, dp, size;
  bool full, sharded;
  std::uint32_t schedule;
};

// Bubble, activation memory and compute time of a schedule, each divided by that of 1F1B.
struct Character {
  double bubble, memory, compute;
};
constexpr Character characters[] = {{1, 1, 1},        {0.5, 1.15, 1},    {0.45, 1, 1.004},
                                    {0.08, 2, 1.004}, {0.7, 0.36, 1.03}, {0.35, 0.55, 1.01},
                                    {0.1, 1, 1.006},  {1, 6, 1}};

CandidateRow row_of(const Layout& at, const MadeSearch& made) {
  CandidateRow row;
  row.group = static_cast<std::uint32_t>(at.group);
  const double microbatches = 1536 / (at.dp * at.size);
  if (microbatches < 1 || microbatches != std::floor(microbatches)) {
    row.outcome = Outcome::illegal;
    row.note = fmt::format("a replica has {} samples, which microbatches of {} do not make up",
                           1536 / at.dp, at.size);
    return row;
  }
  if (96 / at.pp != std::floor(96 / at.pp)) {
    row.outcome = Outcome::illegal;
    row.note = fmt::format("96 layers are no whole number on each of {} stages", at.pp);
    return row;
  }
  const Character& character = characters[at.schedule % std::size(characters)];
  row.work = {.gpus = static_cast<std::uint64_t>(gpus),
              .samples = 1536,
              .tokens = tokens,
              .model_flop = flop,
              .full_attention_flop = 1.25 * flop,
              .peak_flops = peak * (1 + at.group)};
  const double state = 175e9 / (at.tp * at.pp) * (6 + 12 / (at.sharded ? at.dp : 1));
  const double activations = 96 / at.pp * at.size * 2048 * 12288 * (at.full ? 2.0 : 34 / at.tp) *
                             std::min(at.pp, microbatches) * character.memory;
  row.peak_bytes = static_cast<std::uint64_t>(state + activations + 2 * gib);
  row.capacity_bytes = static_cast<std::uint64_t>(made.memory_gib * gib);
  if (row.peak_bytes > row.capacity_bytes) {
    row.outcome = Outcome::does_not_fit;
    row.note = fmt::format("device 0 would hold {:.1f} GiB of {:.1f} GiB",
                           static_cast<double>(row.peak_bytes) / gib, made.memory_gib);
    return row;
  }
  const double efficiency = 0.72 - 0.12 / at.size - 0.012 * at.tp;
  TimeParts& parts = row.parts;
  parts.compute =
      flop / row.work.peak_flops / efficiency * (at.full ? 1.32 : 1) * character.compute;
  parts.in_passes = parts.compute * 0.045 * std::log2(at.tp) * (at.tp > 8 ? 6 : 1);
  parts.p2p = 0.0015 * microbatches / at.tp * (at.schedule == 1 ? 3 : 1);
  parts.gradients = 175e9 * 4 / (at.tp * at.pp) / 20e9 * (1 - 1 / at.dp);
  parts.weights = at.sharded ? 0.5 * parts.gradients : 0;
  parts.optimizer = 175e9 * 16 / (at.tp * at.pp) / 1.5e12 / (at.sharded ? at.dp : 1);
  parts.idle = (parts.compute + parts.in_passes) * (at.pp - 1) / microbatches * character.bubble;
  row.time_s = parts.compute + parts.in_passes + parts.p2p + parts.gradients + parts.weights +
               parts.optimizer + parts.idle;
  row.bound_s = row.time_s * (0.995 - 0.02 * std::fmod(at.tp * 0.37 + at.pp * 0.11, 1.0));
  row.bubble_ratio = 1 - (parts.compute + parts.in_passes) / row.time_s;
  row.span_bubble_s = parts.idle;
  row.outcome = Outcome::simulated;
  return row;
}

double number(const std::vector<SearchAxis>& axes, std::size_t axis, std::uint32_t value) {
  return std::stod(axes[axis].values[value]);
}

// Marks candidates whose bound excludes them as the best as not simulated, except for a fixed part,
// as if they were on a Pareto front. A few others are marked as failed.
void settle(SearchRun& run, double slack) {
  std::vector<double> best(run.groups.size(), std::numeric_limits<double>::infinity());
  for (const CandidateRow& row : run.rows)
    if (row.outcome == Outcome::simulated) best[row.group] = std::min(best[row.group], row.time_s);
  for (CandidateRow& row : run.rows) {
    if (row.outcome != Outcome::simulated) continue;
    const bool front = row.candidate % 29 == 0;
    if (row.bound_s > slack * best[row.group] && !front) {
      row.outcome = Outcome::bounded_away;
    } else if (row.candidate % 97 == 5 && row.time_s > best[row.group]) {
      row.outcome = Outcome::failed;
      row.note = "its process took longer than 60 s";
    } else {
      continue;
    }
    remove_simulation(row);
  }
}

}  // namespace

SearchRun made_search(const MadeSearch& made) {
  SearchRun run;
  run.title = "GPT-3 175B on 1,024 GPUs";
  run.sweep = "model: gpt-175b\ncluster: dgx-a100-1024\n";
  run.groups = made.groups;
  run.axes = {{"cluster", "cluster", made.groups},
              {"parallel.tp", "tp", powers(5)},
              {"parallel.pp", "pp", powers(7)},
              {"parallel.dp", "dp", powers(11)},
              {"training.microbatch_size", "microbatch", powers(made.microbatch_sizes)},
              {"training.recompute", "recompute", {"none", "full"}},
              {"parallel.zero", "zero", {"0", "1"}},
              {"schedule", "schedule", made.schedules}};
  run.combinations = 1;
  for (const SearchAxis& axis : run.axes)
    run.combinations *= static_cast<double>(axis.values.size());
  const auto candidates = static_cast<std::uint64_t>(run.combinations);
  std::uint64_t cut = 0;
  for (std::uint64_t candidate = 0; candidate < candidates; ++candidate) {
    std::vector<std::uint32_t> at(run.axes.size());
    std::uint64_t rest = candidate;
    for (std::size_t axis = run.axes.size(); axis-- > 0; rest /= run.axes[axis].values.size())
      at[axis] = static_cast<std::uint32_t>(rest % run.axes[axis].values.size());
    const auto value = [&](std::size_t axis) { return number(run.axes, axis, at[axis]); };
    if (value(1) * value(2) * value(3) != gpus) {
      ++cut;
      continue;
    }
    CandidateRow row = row_of({static_cast<double>(at[0]), value(1), value(2), value(3), value(4),
                               at[5] == 1, at[6] == 1, at[7]},
                              made);
    row.candidate = candidate;
    run.rows.push_back(row);
  }
  run.excluded = {{"tp * cp * pp * dp == gpus", cut}, {"tp <= gpus_per_node", 0}};
  run.finished = true;
  settle(run, made.slack);
  return run;
}

}  // namespace pipewright::tests
