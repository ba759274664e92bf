#include "analysis/report/search/search_runs.hpp"

#include <bit>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/names.hpp"
#include "support/random.hpp"

namespace pipewright::tests {

using namespace analysis;

namespace {

CandidateRow row_with(std::uint64_t candidate, std::uint32_t group, Outcome outcome) {
  CandidateRow row;
  row.candidate = candidate;
  row.group = group;
  row.outcome = outcome;
  return row;
}

}  // namespace

CandidateRow random_row(std::uint32_t seed) {
  Random random(seed);
  const auto any = [&]() -> std::uint64_t {
    return (static_cast<std::uint64_t>(random.whole(0, UINT32_MAX)) << 32) |
           random.whole(0, UINT32_MAX);
  };
  CandidateRow row;
  row.candidate = any();
  row.group = random.whole(0, UINT32_MAX);
  row.outcome = static_cast<Outcome>(random.whole(0, outcome_names.size() - 1));
  for (std::uint32_t length = random.whole(0, 20); length > 0; --length)
    row.note += static_cast<char>(random.whole(0, random.flip() ? 127 : 255));
  if (random.flip())
    row.evidence = {random.flip() ? "b200" : "l40s and b200",
                    {"products.fp8", "flops"},
                    {.low = -0.125,
                     .high = 0.25,
                     .nominal = 0.9,
                     .median = 0.0625,
                     .scatter = 0.03125,
                     .basis = "b200, bf16, dense",
                     .rows = random.whole(1, 1000)}};
  for (const CandidateFigure& figure : candidate_figures) {
    if (random.flip()) continue;
    visit_figure(row, figure, [&](auto& value) {
      value = std::bit_cast<std::remove_reference_t<decltype(value)>>(any());
      if constexpr (std::is_same_v<decltype(value), double&>)
        if (!std::isfinite(value)) value = -0.0;
    });
  }
  return row;
}

CandidateRow simulated_row(std::uint64_t candidate, double time_s, std::uint64_t peak_bytes,
                           std::uint32_t group) {
  CandidateRow row = row_with(candidate, group, Outcome::simulated);
  row.work = {.gpus = 8,
              .samples = 16,
              .tokens = 16384,
              .model_flop = 1e15,
              .full_attention_flop = 1.25e15,
              .peak_flops = 2.5e15};
  row.peak_bytes = peak_bytes;
  row.capacity_bytes = std::uint64_t{80} << 30;
  row.bound_s = 0.9 * time_s;
  row.time_s = time_s;
  row.bubble_ratio = 0.2;
  row.span_bubble_s = 0.1 * time_s;
  row.parts = {.compute = 0.6 * time_s,
               .in_passes = 0.1 * time_s,
               .p2p = 0.02 * time_s,
               .gradients = 0.05 * time_s,
               .weights = 0.01 * time_s,
               .optimizer = 0.02 * time_s,
               .idle = 0.2 * time_s};
  return row;
}

SearchRun sample_search(std::uint32_t seed, std::uint32_t layouts) {
  Random random(seed);
  SearchRun run;
  run.title = "a sample";
  run.sweep = "parallel: {tp: auto, pp: auto}\nschedule: [1f1b, zb-1p, v-half]\n";
  SearchAxis tp{"parallel.tp", "tp", {}};
  for (std::uint32_t i = 0; i < layouts; ++i) tp.values.push_back(fmt::format("{}", i + 1));
  run.axes = {tp,
              {"training.recompute", "recompute", {"none", "full"}},
              {"schedule", "schedule", {"1f1b", "zb-1p", "v-half"}}};
  run.groups = {"gpt-7b on a100", "gpt-7b on h100"};
  run.combinations = 6.0 * layouts + 100;
  run.excluded = {{"tp <= gpus_per_node", 100}};
  run.finished = true;
  for (std::uint64_t candidate = 0; candidate < 6 * layouts; ++candidate) {
    const double time_s = random.real(1, 3);
    const std::uint64_t peak = std::uint64_t{random.whole(20, 100)} << 30;
    CandidateRow row = simulated_row(candidate, time_s, peak, random.whole(0, 1));
    row.outcome = static_cast<Outcome>(random.whole(1, outcome_names.size() - 1));
    if (row.outcome == Outcome::illegal) {
      row = row_with(candidate, row.group, Outcome::illegal);
      row.note = fmt::format("pp {} does not divide 32 layers", random.whole(3, 9));
    } else if (row.outcome == Outcome::does_not_fit) {
      row.peak_bytes = row.capacity_bytes + peak;
      row.bound_s = 0;
      row.note = fmt::format("device {} would hold too much", random.whole(0, 7));
    } else if (row.outcome == Outcome::failed) {
      row.note = "its process was killed: out of memory";
    }
    if (row.outcome == Outcome::simulated && random.flip())
      row.evidence = {run.groups[row.group],
                      {"flops", "clock"},
                      {.low = -0.125,
                       .high = 0.25,
                       .nominal = 0.9,
                       .basis = "b200, bf16, dense, megatron-core",
                       .rows = 12}};
    if (row.outcome != Outcome::simulated) remove_simulation(row);
    run.rows.push_back(row);
  }
  return run;
}

SearchRun two_candidates() {
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  SearchRun run;
  run.axes = {{"parallel.tp", "tp", {"1", "2"}}, {"schedule", "schedule", {"1f1b"}}};
  run.groups = {"a model on a cluster"};
  run.finished = true;
  run.rows = {simulated_row(0, 1.0, 40 * gib), simulated_row(1, 1.1, 60 * gib)};
  return run;
}

Robustness robustness(const std::vector<double>& first_s, const std::vector<double>& second_s) {
  Robustness robust;
  robust.settings.draws = static_cast<std::uint32_t>(first_s.size());
  const std::vector<double> exact(first_s.size(), 1);
  robust.rows = {{0, first_s, exact, exact}, {1, second_s, exact, exact}};
  return robust;
}

bool same(const CandidateRow& a, const CandidateRow& b) {
  bool equal = a.candidate == b.candidate && a.group == b.group && a.outcome == b.outcome;
  equal = equal && a.note == b.note && a.evidence == b.evidence;
  const auto bits = [](auto value) { return std::bit_cast<std::uint64_t>(value); };
  for (const CandidateFigure& figure : candidate_figures)
    equal = equal && visit_figure(a, figure, bits) == visit_figure(b, figure, bits);
  return equal;
}

}  // namespace pipewright::tests
