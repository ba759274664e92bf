#include "analysis/measured/compare/trace_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/report/job.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

double first_start(const std::vector<TimedPass>& passes) {
  return passes.empty() ? 0 : std::ranges::min(passes, {}, &TimedPass::start).start;
}

std::uint32_t stages(const std::vector<TimedPass>& passes) {
  std::uint32_t count = 0;
  for (const TimedPass& pass : passes) count = std::max(count, pass.key.stage + 1);
  return count;
}

// Returns the reason why passes of the two runs do not correspond; empty if they do.
std::string mismatch_reason(const RunFigures& first, const RunFigures& second) {
  const std::uint32_t first_stages = stages(first.passes);
  const std::uint32_t second_stages = stages(second.passes);
  if (first_stages != second_stages)
    return fmt::format("the numbers of stages differ: {} and {}", first_stages, second_stages);
  if (first.summary.run.slices != second.summary.run.slices)
    return fmt::format("the numbers of slices of a microbatch differ: {} and {}",
                       first.summary.run.slices, second.summary.run.slices);
  return {};
}

class MoveCounter {
 public:
  MoveCounter(Moves& moves, double tolerance) : moves_(moves), tolerance_(tolerance) {}

  void add(const PassMove& pass) {
    ++moves_.matched;
    KindChange& kind = kinds_[{pass.pass.stage, pass.pass.kind}];
    const double shift = pass.shift();
    const double longer = pass.second_length - pass.first_length;
    ++kind.passes;
    kind.mean_shift += shift;
    kind.first_length += pass.first_length;
    kind.second_length += pass.second_length;
    kind.later += shift > tolerance_ ? 1 : 0;
    kind.earlier += shift < -tolerance_ ? 1 : 0;
    moves_.longer += longer > tolerance_ ? 1 : 0;
    moves_.shorter += longer < -tolerance_ ? 1 : 0;
    moves_.on_other_device += pass.first_device != pass.second_device ? 1 : 0;
    const bool moved = std::abs(shift) > tolerance_;
    moves_.unmoved += moved ? 0 : 1;
    if ((moved || std::abs(longer) > tolerance_) &&
        (!moves_.first || pass.first_start < moves_.first->first_start))
      moves_.first = pass;
    if (moved) add_to_largest(pass);
  }

  void finish() {
    for (auto& [key, kind] : kinds_) {
      const auto count = static_cast<double>(kind.passes);
      kind.stage = key.first;
      kind.kind = key.second;
      kind.mean_shift /= count;
      kind.first_length /= count;
      kind.second_length /= count;
      moves_.later += kind.later;
      moves_.earlier += kind.earlier;
      moves_.kinds.push_back(kind);
    }
  }

 private:
  void add_to_largest(const PassMove& pass) {
    auto& list = moves_.largest;
    if (list.size() == max_listed_shifts && std::abs(pass.shift()) <= std::abs(list.back().shift()))
      return;
    const auto position = std::ranges::find_if(list, [&](const PassMove& move) {
      return std::abs(move.shift()) < std::abs(pass.shift());
    });
    list.insert(position, pass);
    if (list.size() > max_listed_shifts) list.pop_back();
  }

  Moves& moves_;
  double tolerance_;
  std::map<std::pair<std::uint32_t, trace::PassKind>, KindChange> kinds_;
};

// Returns part / whole, or 0 if `whole` is 0, which stands for an unknown value.
double quotient(double part, double whole) { return whole > 0 ? part / whole : 0; }

bool are_known_and_differ(double first, double second) {
  return first > 0 && second > 0 && difference(first, second) != 0;
}

// Returns true if the runs have different models (FLOP per token) or different sequence lengths
// (tokens per sample). A run of given pass times matches any model.
bool have_unlike_models(const trace::RunInfo& a, const trace::RunInfo& b) {
  return are_known_and_differ(quotient(a.model_flops, a.tokens_per_microbatch),
                              quotient(b.model_flops, b.tokens_per_microbatch)) ||
         are_known_and_differ(quotient(a.tokens_per_microbatch, a.samples_per_microbatch),
                              quotient(b.tokens_per_microbatch, b.samples_per_microbatch));
}

// Returns the settings in which two jobs differ, "a.h5 has bf16; b.h5 has fp8, recompute full";
// empty if the jobs are equal or unknown.
std::string job_differences(const std::string& a, const std::string& was, const std::string& b,
                            const std::string& is) {
  if (was.empty() || is.empty()) return {};
  // Removes the marks (~) on calls that lie outside of a cluster's record of measurements, since
  // they tell how accurate a run is, not what its job is.
  const auto without_marks = [](const std::string& job) { return job.substr(0, job.find(", ~")); };
  const std::vector<std::string> own = split_jobs({without_marks(was), without_marks(is)}).own;
  const auto has = [](const std::string& name, const std::string& parts) {
    return parts.empty() ? std::string() : fmt::format("{} has {}", name, parts);
  };
  const std::string between = own[0].empty() || own[1].empty() ? "" : "; ";
  return has(a, own[0]) + between + has(b, own[1]);
}

bool waits_in_passes(const RunFigures& run) {
  return std::ranges::any_of(
      run.summary.devices, [](const DeviceSummary& device) { return device.parts.in_passes > 0; });
}

}  // namespace

Moves compare_passes(RunFigures& first, RunFigures& second) {
  Moves moves;
  moves.not_comparable = mismatch_reason(first, second);
  if (!moves.not_comparable.empty()) return moves;
  const auto by_key = [](RunFigures& run) {
    if (!std::ranges::is_sorted(run.passes, {}, &TimedPass::key))
      std::ranges::stable_sort(run.passes, {}, &TimedPass::key);
  };
  by_key(first);
  by_key(second);
  const double first_origin = first_start(first.passes);
  const double second_origin = first_start(second.passes);
  constexpr double rounding = 1e-9;
  MoveCounter counter(
      moves, rounding * std::max({1.0, first.summary.makespan_s, second.summary.makespan_s}));
  auto a = first.passes.begin();
  auto b = second.passes.begin();
  while (a != first.passes.end() || b != second.passes.end()) {
    const bool no_a = a == first.passes.end();
    const bool no_b = b == second.passes.end();
    if (no_b || (!no_a && a->key < b->key)) {
      ++moves.only_first;
      ++a;
    } else if (no_a || b->key < a->key) {
      ++moves.only_second;
      ++b;
    } else {
      counter.add({a->key, a->device, b->device, a->start - first_origin, b->start - second_origin,
                   a->end - a->start, b->end - b->start});
      ++a;
      ++b;
    }
  }
  counter.finish();
  return moves;
}

bool unlike_iterations(std::span<const RunFigures> runs) {
  return std::ranges::any_of(runs, [&](const RunFigures& run) {
    return run.summary.run.iterations != runs.front().summary.run.iterations;
  });
}

std::vector<std::string> unlike_notes(const RunFigures& first, const RunFigures& other) {
  const trace::RunInfo& was = first.summary.run;
  const trace::RunInfo& is = other.summary.run;
  const std::string a = printable(first.name);
  const std::string b = printable(other.name);
  std::vector<std::string> notes;
  const auto add = [&](std::uint32_t before, std::uint32_t now, const char* noun,
                       const char* advice) {
    if (before != now)
      notes.push_back(fmt::format("{} has {}, {} {}{}", b, counted(now, noun), a, before, advice));
  };
  add(was.iterations, is.iterations, "iteration", "; compare the row iteration");
  const bool are_settings_known = !other.settings.empty();
  if (!are_settings_known) {
    add(was.microbatches, is.microbatches, "microbatch", " an iteration");
    add(was.replicas, is.replicas, "replica", "");
  }
  if (have_unlike_models(was, is))
    notes.push_back(fmt::format("{} and {} have different models or sequence lengths", b, a));
  if (are_settings_known) return notes;
  if (const std::string jobs = job_differences(a, was.job, b, is.job); !jobs.empty())
    notes.push_back("the jobs differ: " + jobs);
  return notes;
}

std::string link_note(std::span<const RunFigures> runs) {
  std::vector<std::string> with, without;
  bool any_links = false;
  for (const RunFigures& run : runs) {
    any_links = any_links || !run.traffic.of_link_class.empty();
    if (run.traffic.in_passes_on_links)
      with.push_back(printable(run.name));
    else if (waits_in_passes(run))
      without.push_back(printable(run.name));
  }
  if (!any_links || without.empty()) return {};
  if (with.empty())
    return "these links do not carry collectives in passes; runs with --detail full include them";
  return fmt::format("links of {} carry collectives in passes (--detail full), those of {} do not",
                     fmt::join(with, ", "), fmt::join(without, ", "));
}

}  // namespace pipewright::analysis
