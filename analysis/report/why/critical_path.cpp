#include "analysis/report/why/critical_path.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "analysis/report/why/trace_index.hpp"

namespace pipewright::analysis {

namespace {

struct PartKind {
  const char* words;
  bool is_communication = false;
};

// Name of each CriticalPart, in the order of the enumeration; true for communication over links.
constexpr std::array<PartKind, critical_parts> part_kinds{{{"compute"},
                                                           {"collectives in passes", true},
                                                           {"transfers", true},
                                                           {"rendezvous"},
                                                           {"blocked sends", true},
                                                           {"weights gathered", true},
                                                           {"gradients reduced", true},
                                                           {"embeddings reduced", true},
                                                           {"norm of gradients", true},
                                                           {"optimizer's step"},
                                                           {"other replicas"},
                                                           {"not known"}}};

const PartKind& kind_of(CriticalPart part) { return part_kinds.at(static_cast<std::size_t>(part)); }

}  // namespace

const char* words(CriticalPart part) { return kind_of(part).words; }

PathSplit split_path(const TraceIndex& index, const std::vector<CriticalPiece>& path) {
  Replicas run(index);
  return split_path(run, path);
}

PathSplit split_path(Replicas& run, const std::vector<CriticalPiece>& path) {
  PathSplit split;
  std::map<std::tuple<CriticalPart, trace::PassKind, std::string>, PathShare> parts;
  std::map<std::uint32_t, double> stages;
  for (const CriticalPiece& piece : path) {
    const trace::Trace& trace = run.find(piece.replica)->trace();
    const double seconds = piece.end - piece.start;
    const bool is_compute = piece.part == CriticalPart::compute;
    const auto kind = is_compute ? trace.passes[piece.pass].kind : trace::PassKind::forward;
    const std::string link =
        piece.link < trace.links.size() ? trace.links[piece.link].link_class : "";
    PathShare& share = parts[{piece.part, kind, link}];
    share.part = piece.part;
    share.kind = kind;
    share.link_class = link;
    share.seconds += seconds;
    ++share.pieces;
    if (piece.alone > 0) {
      const double delay = seconds - piece.alone;
      share.contention_s =
          share.contention_s.value_or(0) + (delay > time_tolerance(piece.end) ? delay : 0);
    }
    if (piece.pass != no_pass) stages[piece.stage] += seconds;
    if (is_compute)
      split.computing_s += seconds;
    else if (piece.part == CriticalPart::optimizer)
      split.optimizer_s += seconds;
    else
      (kind_of(piece.part).is_communication ? split.communication_s : split.waiting_s) += seconds;
  }
  for (const auto& [key, share] : parts) split.parts.push_back(share);
  for (const auto& [stage, seconds] : stages) split.stages.push_back({stage, seconds});
  std::ranges::stable_sort(split.parts, std::ranges::greater{}, &PathShare::seconds);
  std::ranges::stable_sort(split.stages, std::ranges::greater{}, &StageShare::seconds);
  return split;
}

}  // namespace pipewright::analysis
