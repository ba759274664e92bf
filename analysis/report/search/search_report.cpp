#include "analysis/report/search/search_report.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "analysis/report/assumed.hpp"
#include "analysis/report/search/findings.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/report/search/search_tables.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

std::string heading(const SearchRun& run) {
  const std::string of = run.groups.size() == 1 ? printable(run.groups[0]) + ", " : "";
  std::string text = fmt::format("{}: {}{}\n", run.title.empty() ? "search" : printable(run.title),
                                 of, printable(name_of(run.objective)));
  std::string axes;
  for (const std::size_t axis : open_axes(run))
    axes += fmt::format("{}{} ({})", axes.empty() ? "" : ", ", printable(run.axes[axis].name),
                        run.axes[axis].values.size());
  text +=
      fmt::format("{} combination{}", grouped(run.combinations), run.combinations == 1 ? "" : "s");
  return text + (axes.empty() ? "\n" : fmt::format(" of {}\n", axes));
}

// Of weeks; to two digits, as layouts hardly differ in the first.
std::string effective_text(const CandidateRow& row) {
  return fmt::format("{:.2f} %", (1 - row.work.lost_part) / 0.01);
}

std::string best_text(const SearchRun& run, const Findings& findings) {
  const CandidateRow& row = run.rows[*findings.best];
  const std::string shard = shard_name(run);
  std::string text =
      fmt::format("best{}: {}\n", shard.empty() ? "" : " of " + shard, named(run, row));
  if (run.groups.size() > 1 && row.group < run.groups.size())
    text += fmt::format("  {}\n", printable(run.groups[row.group]));
  // What memory is worth is the memory itself, which goes with what there is of it.
  const bool is_memory = run.objective.kind == Objective::Kind::memory;
  text += is_memory ? fmt::format("  memory {}", memory_text(row))
                    : fmt::format("  {}", worth(run, row));
  if (run.objective.kind == Objective::Kind::tokens_a_day)
    text += fmt::format(", {} of the time effective\n ", effective_text(row));
  const std::string_view mark = time_mark(row.assumed);
  const bool rate = run.objective.kind == Objective::Kind::throughput;
  const bool on_new_line = text.ends_with("\n ");
  if (!rate && throughput(row.work, row.time_s) > 0)
    text += fmt::format(
        "{}{}{}", on_new_line ? " " : ", ", mark,
        format_rate(throughput(row.work, row.time_s), row.work.tokens > 0 ? "tokens" : "samples"));
  if (run.objective.kind != Objective::Kind::mfu && mfu(row.work, row.time_s) > 0)
    text += fmt::format(", {}{} MFU", mark, format_percent(mfu(row.work, row.time_s)));
  text += fmt::format(", iteration {}{}, bubble {}", mark, format_seconds(row.time_s),
                      format_percent(row.bubble_ratio));
  if (row.peak_bytes > 0 && !is_memory) text += fmt::format(", memory {}", memory_text(row));
  if (!row.note.empty()) text += fmt::format("\n  {}", printable(row.note));
  return text + "\n";
}

// A list on lines that fit, each after as many blanks.
std::string wrapped(const std::string& list, std::size_t blanks) {
  constexpr std::size_t most = 98;
  std::string text;
  std::size_t column = most;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(", ", at), list.size());
    const std::size_t size = end - at + 1;
    if (column + size > most) {
      text += fmt::format("{}{}", text.empty() ? "" : "\n", std::string(blanks, ' '));
      column = blanks;
    } else {
      text += ' ';
    }
    text += list.substr(at, size);
    column += size + 1;
    at = end + 2;
  }
  return text;
}

std::string why_text(const SearchRun& run, const Comparison& lost) {
  std::string text;
  if (lost.twins > 0)
    text = lost.twins == 1
               ? "another one takes the same time and memory as the best\n"
               : fmt::format("{} others take the same time and memory as the best\n", lost.twins);
  return text + loss_text("the runner-up", run, lost);
}

std::string fronts_text(const SearchRun& run, const Findings& findings, std::size_t most) {
  std::string text;
  for (std::size_t group = 0; group < findings.fronts.size(); ++group) {
    std::span<const std::size_t> rows = findings.fronts[group];
    if (rows.empty()) continue;
    const std::string of =
        run.groups.size() > 1 ? fmt::format(" of {}", printable(run.groups[group])) : "";
    const std::size_t left = rows.size() - std::min(rows.size(), most);
    // Fronts are of an iteration, whatever weeks of it come to.
    const bool of_weeks = run.objective.kind == Objective::Kind::tokens_a_day;
    text += fmt::format("\n{} against memory{}: none of the others is better in both\n",
                        of_weeks ? "throughput of an iteration" : "throughput", of);
    // The last are the fastest.
    text += row_table(run, rows.subspan(left), findings.best_of_group[group]);
    if (left > 0) text += fmt::format("and {} with less memory\n", left);
  }
  return text;
}

}  // namespace

std::string none_text(const SearchRun& run, const Findings& findings) {
  std::string text = "nothing was found";
  if (!findings.ranked.empty())
    return text + ": what was simulated is below the floor; the nearest has " +
           fmt::format("{}\n", named(run, run.rows[findings.ranked.front()]));
  const auto count = [&](Outcome outcome) {
    return findings.outcomes[static_cast<std::size_t>(outcome)];
  };
  if (!run.finished)
    return text + (count(Outcome::failed) > 0
                       ? " before the search was stopped: what was simulated failed\n"
                       : ": the search was stopped before a candidate was simulated\n");
  if (run.rows.empty())
    return fmt::format("{}: there was no candidate{}\n", text,
                       run.shard.count == 1 ? "" : " in " + shard_name(run));
  if (count(Outcome::illegal) == run.rows.size()) return text + ": no candidate is legal\n";
  if (findings.nearest && count(Outcome::illegal) + count(Outcome::does_not_fit) == run.rows.size())
    return fmt::format("{}: no candidate fits; the nearest, {}, holds {}\n", text,
                       named(run, run.rows[*findings.nearest]),
                       memory_text(run.rows[*findings.nearest]));
  return text + "\n";
}

std::string loss_text(const char* who, const SearchRun& run, const Comparison& lost) {
  std::string text = fmt::format("{} has {}\n", who, axes_text(run, lost));
  if (lost.behind == 0) return text + "  and is as good\n";
  text += fmt::format("  it is {} behind", format_percent(lost.behind));
  if (lost.is_of_gpu_time)
    text += fmt::format(", on {} GPUs for {}", run.rows[lost.worse].work.gpus,
                        run.rows[lost.better].work.gpus);
  else if (lost.seconds != 0)
    text += fmt::format(", {}{} for the same work", lost.seconds > 0 ? "+" : "",
                        format_seconds(lost.seconds));
  if (std::abs(lost.bytes) >= 1)
    text += fmt::format(", {}{} of memory", lost.bytes > 0 ? "+" : "-",
                        format_bytes(static_cast<std::uint64_t>(std::abs(lost.bytes))));
  const std::string effective = effective_text(run.rows[lost.worse]);
  if (const std::string better = effective_text(run.rows[lost.better]); better != effective)
    text += fmt::format("\n    {} of the time effective for {}", effective, better);
  const char* of = lost.is_of_gpu_time ? "GPU time for the same work: " : "";
  return text + fmt::format("\n{}\n", wrapped(of + parts_text(lost), 4));
}

std::size_t axis_named(const std::vector<SearchAxis>& axes, const std::string& name) {
  std::string known;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].name == name || axes[axis].key == name) return axis;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", axes[axis].name);
  }
  throw std::invalid_argument(
      fmt::format("'{}' is no axis of the search: {}", name,
                  known.empty() ? "it has none" : fmt::format("they are {}", known)));
}

std::string proof_text(const SearchRun& run, const Findings& findings) {
  const bool is_shard = run.shard.count > 1;
  const std::string all = is_shard ? shard_name(run) + " of the sweep" : "the sweep";
  const std::string of = is_shard ? " of " + shard_name(run) : "";
  std::string text;
  if (!findings.best)
    text = run.finished ? fmt::format("all of {} was looked at", all)
                        : "stopped before anything was proven";
  else if (run.finished && !findings.failed_hopes.empty())
    text = fmt::format("finished: nothing{} of what could be simulated is better", of);
  else if (run.finished && run.exhaustive)
    text = fmt::format("proven: all{} that fit were simulated", of);
  else if (run.gap == 0)
    text = run.finished
               ? fmt::format("proven: nothing in {} is better", all)
               : fmt::format("stopped: nothing in {} is better, but fronts may lack points", all);
  else if (run.gap < 1)
    text = fmt::format("{}: nothing{} can be more than {} better",
                       run.finished ? "finished" : "stopped", of, format_percent(run.gap));
  else
    text = fmt::format("stopped before all{} were looked at: what was not may be better", of);
  return text + (is_shard ? "; other shards were not looked at" : "");
}

namespace {

// `best` of each of these values of what is called `name`.
std::string best_of_text(const SearchRun& run, const std::string& name,
                         const std::vector<std::string>& values, const std::vector<BestOf>& best,
                         bool with_gpus = false) {
  const Findings findings = find(run);
  std::vector<std::size_t> rows;
  std::string rest;
  const auto line = [&](const BestOf& of, const std::string& words) {
    rest += fmt::format("{} {}: {}\n", printable(name), printable(values[of.value]), words);
  };
  for (const BestOf& of : best) {
    if (of.row) rows.push_back(*of.row);
    if (of.bound)
      line(of, fmt::format("{} {}",
                           of.row ? "its best may be another, not simulated: at best" : "at best",
                           worth(run, run.rows[*of.bound])));
    else if (!of.row)
      line(of, findings.not_looked_at > 0 && of.outcomes == OutcomeCounts{}
                   ? "none was looked at"
                   : outcome_of_none(of.outcomes));
  }
  const std::vector<std::size_t>& ranked = findings.ranked;
  return row_table(run, rows, ranked.empty() ? std::nullopt : std::optional(ranked.front()),
                   with_gpus) +
         rest;
}

}  // namespace

std::string best_by_text(const SearchRun& run, std::size_t axis) {
  return best_of_text(run, run.axes[axis].name, run.axes[axis].values, best_by(run, axis));
}

std::string best_by_gpus_text(const SearchRun& run) {
  std::vector<std::string> values;
  for (const std::uint64_t number : gpu_numbers(run)) values.push_back(fmt::to_string(number));
  return best_of_text(run, "gpus", values, best_by_gpus(run), true);
}

std::string search_report(const SearchRun& run, const SearchReportOptions& options) {
  const Findings findings = find(run);
  std::string text = heading(run) + "\n";
  text += findings.best ? best_text(run, findings) : none_text(run, findings);
  text += fmt::format("  {}\n", proof_text(run, findings));
  if (!findings.failed_hopes.empty())
    text += fmt::format("  {} that failed might be, such as {}; --resume tries them again\n",
                        findings.failed_hopes.size(),
                        named(run, run.rows[findings.failed_hopes.front()]));
  text += fmt::format("\n{}", counts_text(run, findings));
  if (const auto lost = runner_up(run, findings)) text += fmt::format("\n{}", why_text(run, *lost));
  const std::size_t top = std::min(options.top, findings.ranked.size());
  if (top > 1)
    text += fmt::format("\nthe best {} of {} simulated\n{}", top, findings.ranked.size(),
                        row_table(run, std::span(findings.ranked).first(top), findings.best));
  for (const std::size_t axis : options.by)
    text += fmt::format("\nthe best of each {} that was simulated\n{}",
                        printable(run.axes[axis].name), best_by_text(run, axis));
  if (options.by_gpus)
    text += fmt::format("\nthe best of each number of GPUs that was simulated\n{}",
                        best_by_gpus_text(run));
  return text + fronts_text(run, findings, options.front);
}

}  // namespace pipewright::analysis
