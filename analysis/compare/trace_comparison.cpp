#include "analysis/compare/trace_comparison.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/text_table.hpp"
#include "analysis/units_text.hpp"

namespace pipewright::analysis {
namespace {

// 0: unknown
double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

bool unlike_where_known(double first, double second) {
  return first > 0 && second > 0 && difference(first, second) != 0;
}

// By the FLOP of a token, and the tokens of a sample. What times alone describe is of any model.
bool unlike_models(const trace::RunInfo& a, const trace::RunInfo& b) {
  return unlike_where_known(ratio(a.model_flops, a.tokens_per_microbatch),
                            ratio(b.model_flops, b.tokens_per_microbatch)) ||
         unlike_where_known(ratio(a.tokens_per_microbatch, a.samples_per_microbatch),
                            ratio(b.tokens_per_microbatch, b.samples_per_microbatch));
}

bool waits_in_passes(const RunFigures& run) {
  return std::ranges::any_of(
      run.summary.devices, [](const DeviceSummary& device) { return device.parts.in_passes > 0; });
}

}  // namespace

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
  add(was.iterations, is.iterations, "iteration", "; their times are in the row iteration");
  add(was.microbatches, is.microbatches, "microbatch", " an iteration");
  add(was.replicas, is.replicas, "replica", "");
  if (unlike_models(was, is))
    notes.push_back(fmt::format("{} and {} are of different models or sequence lengths", b, a));
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
    return "collectives in passes are not on these links; runs with --detail full have them there";
  return fmt::format("links of {} count collectives in passes (--detail full), those of {} do not",
                     fmt::join(with, ", "), fmt::join(without, ", "));
}

}  // namespace pipewright::analysis
