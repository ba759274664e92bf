#include "analysis/report/why/lost_time.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

using trace::CollectiveRow;

// Activities of the ideal run of one replica, by the keys that they share with the run.
class IdealActivities {
 public:
  explicit IdealActivities(const TraceIndex& index) : index_(index) {
    const trace::Trace& trace = index.trace();
    for (std::size_t i = 0; i < trace.passes.size(); ++i)
      passes_.try_emplace(key_of(trace.passes[i]), i);
    for (std::size_t i = 0; i < trace.transfers.size(); ++i)
      transfers_.try_emplace(key_of(trace.transfers[i]), i);
  }

  // Seconds of the same activity in the ideal run; nothing if the ideal run does not have it.
  std::optional<double> pass(const trace::PassRow& row, bool is_waiting) const {
    const auto it = passes_.find(key_of(row));
    if (it == passes_.end()) return std::nullopt;
    return pass_seconds(index_, it->second, is_waiting);
  }
  std::optional<double> transfer(const trace::TransferRow& row) const {
    const auto it = transfers_.find(key_of(row));
    if (it == transfers_.end()) return std::nullopt;
    const trace::TransferRow& ideal = index_.trace().transfers[it->second];
    return ideal.end - ideal.start;
  }
  // `part` is the number of the collective among those of its device, stage and iteration.
  std::optional<double> collective(const CollectiveRow& row, std::size_t part) const {
    for (const CollectiveRow* ideal : index_.collectives_on(row.device))
      if (is_alike(*ideal, row) && part-- == 0) return ideal->end - ideal->start;
    return std::nullopt;
  }
  std::optional<double> step(const trace::StepRow& row) const {
    for (const trace::StepRow* ideal : index_.steps_on(row.device))
      if (ideal->iteration == row.iteration) return ideal->updated - ideal->synchronized;
    return std::nullopt;
  }

  static double pass_seconds(const TraceIndex& index, std::size_t pass, bool is_waiting) {
    const double waits = index.exposed_within(pass);
    return is_waiting ? waits : index.own_seconds(pass) - waits;
  }
  static bool is_alike(const CollectiveRow& a, const CollectiveRow& b) {
    return a.kind == b.kind && a.stage == b.stage && a.iteration == b.iteration;
  }

 private:
  using PassKey = std::tuple<std::uint32_t, trace::PassKind, std::uint32_t, std::uint32_t>;
  using TransferKey = std::tuple<trace::TransferKind, std::uint32_t, std::uint32_t>;
  static PassKey key_of(const trace::PassRow& row) {
    return {row.device, row.kind, row.stage, row.microbatch};
  }
  static TransferKey key_of(const trace::TransferRow& row) {
    return {row.kind, row.stage, row.microbatch};
  }

  const TraceIndex& index_;
  std::map<PassKey, std::size_t> passes_;
  std::map<TransferKey, std::size_t> transfers_;
};

// Duration of the activity to which a piece of the critical path belongs, in the run and in the
// ideal run.
struct Durations {
  double seconds = 0;
  std::optional<double> ideal;
};

Durations of_collective(const TraceIndex& run, const CollectiveRow& row,
                        const IdealActivities& ideal) {
  std::size_t part = 0;
  for (const CollectiveRow* before : run.collectives_on(row.device)) {
    if (before == &row) break;
    if (IdealActivities::is_alike(*before, row)) ++part;
  }
  return {row.end - row.start, ideal.collective(row, part)};
}

Durations durations_of(const TraceIndex& run, const CriticalPiece& piece,
                       const IdealActivities& ideal) {
  const trace::Trace& trace = run.trace();
  switch (piece.part) {
    case CriticalPart::compute:
    case CriticalPart::in_passes: {
      const bool is_waiting = piece.part == CriticalPart::in_passes;
      return {IdealActivities::pass_seconds(run, piece.pass, is_waiting),
              ideal.pass(trace.passes[piece.pass], is_waiting)};
    }
    case CriticalPart::transfer:
    case CriticalPart::blocked_send: {
      if (piece.row == no_row) break;
      const trace::TransferRow& row = trace.transfers[piece.row];
      return {row.end - row.start, ideal.transfer(row)};
    }
    case CriticalPart::weights:
    case CriticalPart::gradients:
    case CriticalPart::embeddings:
      if (piece.row == no_row) break;
      return of_collective(run, trace.collectives[piece.row], ideal);
    case CriticalPart::optimizer:
      if (const trace::StepRow* step = run.step_at(piece.device, piece.end))
        return {step->updated - step->synchronized, ideal.step(*step)};
      break;
    case CriticalPart::rendezvous:
    case CriticalPart::norm:
    case CriticalPart::other_replicas:
    case CriticalPart::other:
      break;
  }
  return {};
}

// Seconds by which a piece is longer than its share of the ideal activity; negative if shorter.
double excess_of(const CriticalPiece& piece, const Durations& durations) {
  const double seconds = piece.end - piece.start;
  if (piece.part == CriticalPart::other_replicas) return seconds;
  if (!durations.ideal || durations.seconds <= 0) return 0;
  return seconds * (1 - *durations.ideal / durations.seconds);
}

// Bandwidths of the links of a trace, by name.
using Bandwidths = std::map<std::string, double>;

Bandwidths bandwidths_of(const trace::Trace& trace) {
  Bandwidths bandwidths;
  for (const trace::LinkRow& link : trace.links) bandwidths.emplace(link.name, link.bandwidth);
  return bandwidths;
}

LostTimeCause cause_of(const TraceIndex& run, const CriticalPiece& piece, const Bandwidths& ideal) {
  LostTimeCause cause{.part = piece.part};
  if (piece.part == CriticalPart::optimizer) cause.part = CriticalPart::compute;
  if (piece.part == CriticalPart::blocked_send) cause.part = CriticalPart::transfer;
  const trace::Trace& trace = run.trace();
  if (piece.link < trace.links.size()) {
    const trace::LinkRow& link = trace.links[piece.link];
    cause.link = link.name;
    const auto it = ideal.find(link.name);
    if (it != ideal.end()) cause.bandwidth = link.bandwidth / it->second;
    return cause;
  }
  cause.replica = piece.replica;
  cause.device = piece.device;
  cause.host = trace.devices[piece.device].host;
  return cause;
}

// Divides the seconds among the causes, in proportion to their seconds on the path. The last one
// takes what rounding leaves.
void divide(double seconds, std::vector<LostTimeCause>& causes) {
  double sum = 0;
  for (const LostTimeCause& cause : causes) sum += cause.path_s;
  double remaining = seconds;
  for (LostTimeCause& cause : causes) {
    cause.seconds = &cause == &causes.back() ? remaining : seconds * (cause.path_s / sum);
    remaining -= cause.seconds;
  }
}

}  // namespace

LostTime lost_time(Replicas& run, const std::vector<CriticalPiece>& path, Replicas& ideal) {
  LostTime lost{.ideal_s = ideal.first().makespan(), .seconds = 0, .causes = {}};
  lost.seconds = run.first().makespan() - lost.ideal_s;
  if (lost.seconds <= time_tolerance(lost.ideal_s)) return lost;

  std::map<std::uint32_t, std::optional<IdealActivities>> activities;  // by replica
  std::map<std::tuple<CriticalPart, std::uint32_t, std::uint32_t, std::string>, LostTimeCause>
      causes;
  const Bandwidths bandwidths = bandwidths_of(ideal.first().trace());
  for (const CriticalPiece& piece : path) {
    const TraceIndex* const seen = run.find(piece.replica);
    auto [it, is_new] = activities.try_emplace(piece.replica);
    if (is_new)
      if (const TraceIndex* index = ideal.find(piece.replica)) it->second.emplace(*index);
    if (seen == nullptr || !it->second) continue;
    const LostTimeCause cause = cause_of(*seen, piece, bandwidths);
    auto& sum = causes[{cause.part, cause.replica, cause.device, cause.link}];
    const double path_s = sum.path_s + excess_of(piece, durations_of(*seen, piece, *it->second));
    sum = cause;
    sum.path_s = path_s;
  }
  for (auto& [key, cause] : causes)
    if (cause.path_s > 1e-9 * lost.seconds) lost.causes.push_back(std::move(cause));
  if (lost.causes.empty()) lost.causes.push_back({.path_s = lost.seconds});
  std::ranges::stable_sort(lost.causes, std::ranges::greater{}, &LostTimeCause::path_s);
  divide(lost.seconds, lost.causes);
  return lost;
}

std::string words(const LostTimeCause& cause) {
  if (cause.part == CriticalPart::other) return words(CriticalPart::other);
  if (!cause.link.empty()) {
    constexpr double rounding = 1e-9;
    const std::string slow =
        cause.bandwidth < 1 - rounding
            ? fmt::format(" (at {} of its bandwidth)", format_percent(cause.bandwidth))
            : "";
    return fmt::format("{} over {}{}", words(cause.part), printable(cause.link), slow);
  }
  const std::string host = cause.host.empty() ? "" : fmt::format(" ({})", printable(cause.host));
  return fmt::format("{} of device {} in replica {}{}", words(cause.part), cause.device,
                     cause.replica, host);
}

}  // namespace pipewright::analysis
