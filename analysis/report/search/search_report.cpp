#include "analysis/report/search/search_report.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "analysis/report/evidence.hpp"
#include "analysis/report/first_screen.hpp"
#include "analysis/report/search/answer_report.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/search_tables.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

// Returns the batch and the sequence that all legal candidates have, "batch 128 x 4096, ", or what
// they share of it. Empty if they differ in both, which are axes of the search then.
std::string common_batch_text(const SearchRun& run) {
  std::set<double> batches;
  std::set<double> sequences;
  for (const CandidateRow& row : run.rows)
    if (row.work.samples > 0) {
      batches.insert(row.work.samples);
      sequences.insert(row.work.tokens / row.work.samples);
    }
  // Samples of unequal lengths have no sequence in common.
  const bool has_sequence = sequences.size() == 1 && *sequences.begin() > 0 &&
                            *sequences.begin() == std::floor(*sequences.begin());
  if (batches.size() == 1)
    return has_sequence
               ? fmt::format("batch {:.0f} x {:.0f}, ", *batches.begin(), *sequences.begin())
               : fmt::format("batch {:.0f}, ", *batches.begin());
  return has_sequence ? fmt::format("samples of {:.0f} tokens, ", *sequences.begin()) : "";
}

std::string report_heading(const SearchRun& run) {
  const std::string group = run.groups.size() == 1 ? printable(run.groups[0]) + ", " : "";
  std::string text =
      fmt::format("{}: {}{}{}\n", run.title.empty() ? "search" : printable(run.title), group,
                  common_batch_text(run), printable(name_of(run.objective)));
  std::string axes;
  for (const std::size_t axis : open_axes(run))
    axes += fmt::format("{}{} ({})", axes.empty() ? "" : ", ", printable(run.axes[axis].name),
                        run.axes[axis].values.size());
  text +=
      fmt::format("{} combination{}", grouped(run.combinations), run.combinations == 1 ? "" : "s");
  return text + (axes.empty() ? "\n" : fmt::format(" of {}\n", axes));
}

// Returns the effective training time ratio. It has two decimals, since layouts differ little.
std::string effective_text(const CandidateRow& row) {
  return fmt::format("{:.2f} %", (1 - row.work.lost_part) / 0.01);
}

std::string best_text(const SearchRun& run, const Findings& findings) {
  const CandidateRow& row = run.rows[*findings.best];
  const std::string shard = shard_name(run);
  std::string text =
      fmt::format("best{}: {}\n", shard.empty() ? "" : " of " + shard, candidate_name(run, row));
  if (run.groups.size() > 1 && row.group < run.groups.size())
    text += fmt::format("  {}\n", printable(run.groups[row.group]));
  // Shows the capacity beside the value if the objective is memory.
  const bool is_memory = run.objective.kind == Objective::Kind::memory;
  text += is_memory ? fmt::format("  memory {}", memory_text(row))
                    : fmt::format("  {}", objective_text(run, row));
  if (run.objective.kind == Objective::Kind::tokens_a_day)
    text += fmt::format(", effective training time {}\n ", effective_text(row));
  const bool is_throughput = run.objective.kind == Objective::Kind::throughput;
  const bool is_new_line = text.ends_with("\n ");
  if (!is_throughput && throughput(row.work, row.time_s) > 0)
    text += fmt::format(
        "{}{}", is_new_line ? " " : ", ",
        format_rate(throughput(row.work, row.time_s), row.work.tokens > 0 ? "tokens" : "samples"));
  if (run.objective.kind != Objective::Kind::mfu && mfu(row.work, row.time_s) > 0)
    text += fmt::format(", {} MFU", format_percent(mfu(row.work, row.time_s)));
  text += fmt::format(", iteration {}, bubble {}", format_seconds(row.time_s),
                      format_percent(row.bubble_ratio));
  if (row.peak_bytes > 0 && !is_memory) text += fmt::format(", memory {}", memory_text(row));
  if (!row.note.empty()) text += fmt::format("\n  {}", printable(row.note));
  text += "\n";
  AnswerReport error;
  if (std::string words = expected_error_text(row.evidence.expected_error); !words.empty())
    error.add_long_item(std::move(words));
  return text + error.text();
}

std::string runner_up_text(const SearchRun& run, const Comparison& lost) {
  AnswerReport report;
  if (lost.equivalents > 0)
    report.add_sentence(fmt::format("{} with the time and memory of the best",
                                    counted(lost.equivalents, "other candidate")));
  const LossWords words = loss_words(run, lost);
  report.add_sentence("runner-up: " + words.axes);
  report.add_item(words.distance, words.details);
  return report.text();
}

std::string fronts_text(const SearchRun& run, const Findings& findings, std::size_t max_rows) {
  std::string text;
  for (std::size_t group = 0; group < findings.fronts.size(); ++group) {
    std::span<const std::size_t> rows = findings.fronts[group];
    if (rows.empty()) continue;
    const std::string subject =
        run.groups.size() > 1 ? fmt::format(" of {}", printable(run.groups[group])) : "";
    const std::size_t omitted = rows.size() - std::min(rows.size(), max_rows);
    // A Pareto front shows the throughput without failures, even if the objective counts failures.
    const bool is_goodput = run.objective.kind == Objective::Kind::tokens_a_day;
    text += fmt::format("\n{} against memory{}: the Pareto front\n",
                        is_goodput ? "throughput of an iteration" : "throughput", subject);
    // The front is ordered by memory, and so its last rows are the fastest.
    text += row_table(run, rows.subspan(omitted), findings.best_of_group[group]);
    if (omitted > 0) text += fmt::format("{} with less memory\n", counted(omitted, "more row"));
  }
  return text;
}

}  // namespace

std::string no_best_text(const SearchRun& run, const Findings& findings) {
  std::string text = "nothing was found";
  if (!findings.ranked.empty())
    return text + ": all simulated candidates are below the floor; the nearest is " +
           fmt::format("{}\n", candidate_name(run, run.rows[findings.ranked.front()]));
  const auto count = [&](Outcome outcome) {
    return findings.outcomes[static_cast<std::size_t>(outcome)];
  };
  if (!run.finished)
    return text + (count(Outcome::failed) > 0
                       ? " before the search was stopped: all simulations failed\n"
                       : ": the search was stopped before a candidate was simulated\n");
  if (run.rows.empty())
    return fmt::format("{}: there are no candidates{}\n", text,
                       run.shard.count == 1 ? "" : " in " + shard_name(run));
  if (count(Outcome::illegal) == run.rows.size()) return text + ": no candidate is legal\n";
  if (findings.nearest && count(Outcome::illegal) + count(Outcome::does_not_fit) == run.rows.size())
    return fmt::format("{}: no candidate fits; the nearest, {}, holds {}\n", text,
                       candidate_name(run, run.rows[*findings.nearest]),
                       memory_text(run.rows[*findings.nearest]));
  return text + "\n";
}

LossWords loss_words(const SearchRun& run, const Comparison& lost) {
  LossWords words{.axes = axes_text(run, lost), .distance = "as good as the best", .details = {}};
  if (lost.behind == 0) return words;
  words.distance = fmt::format("{} behind", format_percent(lost.behind));
  if (lost.is_of_gpu_time)
    words.distance += fmt::format(", on {} GPUs (best: {})", run.rows[lost.worse].work.gpus,
                                  run.rows[lost.better].work.gpus);
  else if (lost.seconds != 0)
    words.distance += fmt::format(", {}{} for the same work", lost.seconds > 0 ? "+" : "",
                                  format_seconds(lost.seconds));
  if (std::abs(lost.bytes) >= 1)
    words.distance += fmt::format(", {}{} memory", lost.bytes > 0 ? "+" : "-",
                                  format_bytes(static_cast<std::uint64_t>(std::abs(lost.bytes))));
  const std::string effective = effective_text(run.rows[lost.worse]);
  if (const std::string better = effective_text(run.rows[lost.better]); better != effective)
    words.details.push_back(
        fmt::format("effective training time {} (best: {})", effective, better));
  const char* heading = lost.is_of_gpu_time ? "GPU time for the same work: " : "";
  words.details.push_back(heading + parts_text(lost));
  return words;
}

std::size_t axis_named(const std::vector<SearchAxis>& axes, const std::string& name) {
  std::string names;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].name == name || axes[axis].key == name) return axis;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", axes[axis].name);
  }
  throw std::invalid_argument(
      fmt::format("'{}' is not an axis of the search; {}", name,
                  names.empty() ? "the search has none" : fmt::format("axes: {}", names)));
}

std::string proof_text(const SearchRun& run, const Findings& findings) {
  const bool is_shard = run.shard.count > 1;
  const std::string scope = is_shard ? shard_name(run) + " of the sweep" : "the sweep";
  const std::string of_shard = is_shard ? " of " + shard_name(run) : "";
  std::string text;
  if (!findings.best)
    text = run.finished ? fmt::format("all of {} was examined", scope)
                        : "stopped before anything was proven";
  else if (run.finished && !findings.failed_contenders.empty())
    text = fmt::format("finished: no candidate{} that could be simulated is better", of_shard);
  else if (run.finished && run.exhaustive)
    text = fmt::format("proven: all candidates{} that fit were simulated", of_shard);
  else if (run.gap == 0)
    text = run.finished
               ? fmt::format("proven: nothing in {} is better", scope)
               : fmt::format("stopped: nothing in {} is better, but fronts may lack points", scope);
  else if (run.gap < 1)
    text = fmt::format("{}: nothing{} can be more than {} better",
                       run.finished ? "finished" : "stopped", of_shard, format_percent(run.gap));
  else
    text = fmt::format("stopped early: unexamined candidates{} may be better", of_shard);
  return text + (is_shard ? "; other shards were not examined" : "");
}

namespace {

// Returns the table of the best candidates for the values of `name`, and lines for values whose
// best candidate is not known.
std::string best_for_values_text(const SearchRun& run, const std::string& name,
                                 const std::vector<std::string>& values,
                                 const std::vector<BestForValue>& best,
                                 std::optional<std::size_t> axis = {}) {
  const Findings findings = find(run);
  std::vector<std::size_t> rows;
  std::string notes;
  const auto add_note = [&](const BestForValue& entry, const std::string& words) {
    notes += fmt::format("{} {}: {}\n", printable(name), printable(values[entry.value]), words);
  };
  for (const BestForValue& entry : best) {
    if (entry.row) rows.push_back(*entry.row);
    if (entry.bound)
      add_note(entry, fmt::format(
                          "{} {}",
                          entry.row ? "an unsimulated candidate may be better: at best" : "at best",
                          objective_text(run, run.rows[*entry.bound])));
    else if (!entry.row)
      add_note(entry, findings.not_looked_at > 0 && entry.outcomes == OutcomeCounts{}
                          ? "none examined"
                          : no_best_reason(entry.outcomes));
  }
  const std::vector<std::size_t>& ranked = findings.ranked;
  return row_table(run, rows, ranked.empty() ? std::nullopt : std::optional(ranked.front()), !axis,
                   axis) +
         notes;
}

}  // namespace

std::string best_by_text(const SearchRun& run, std::size_t axis) {
  return best_for_values_text(run, run.axes[axis].name, run.axes[axis].values, best_by(run, axis),
                              axis);
}

std::string best_by_gpus_text(const SearchRun& run) {
  std::vector<std::string> values;
  for (const std::uint64_t number : gpu_counts(run)) values.push_back(fmt::to_string(number));
  return best_for_values_text(run, "gpus", values, best_by_gpus(run));
}

std::string search_report(const SearchRun& run, const SearchReportOptions& options) {
  const Findings findings = find(run);
  std::string text = report_heading(run) + "\n";
  text += findings.best ? best_text(run, findings) : no_best_text(run, findings);
  text += fmt::format("  {}\n", proof_text(run, findings));
  if (!findings.failed_contenders.empty())
    text += fmt::format("  {} may be better, such as {}; --resume retries\n",
                        counted(findings.failed_contenders.size(), "failed candidate"),
                        candidate_name(run, run.rows[findings.failed_contenders.front()]));
  text += counts_table(run, findings).text();  // the empty heading separates the table
  if (!run.notes.empty()) text += '\n' + note_lines(run.notes);
  if (const auto lost = runner_up(run, findings))
    text += fmt::format("\n{}", runner_up_text(run, *lost));
  const std::size_t top = std::min(options.top, findings.ranked.size());
  if (top > 1)
    text += fmt::format("\nbest {} of {} simulated candidates\n{}", top, findings.ranked.size(),
                        row_table(run, std::span(findings.ranked).first(top), findings.best));
  for (const std::size_t axis : options.by)
    text += fmt::format("\nbest simulated candidate for each {}\n{}",
                        printable(run.axes[axis].name), best_by_text(run, axis));
  if (options.by_gpus)
    text += fmt::format("\nbest simulated candidate for each number of GPUs\n{}",
                        best_by_gpus_text(run));
  return text + fronts_text(run, findings, options.front);
}

}  // namespace pipewright::analysis
