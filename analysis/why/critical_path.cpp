#include "analysis/why/critical_path.hpp"

#include <array>

#include "analysis/why/critical_walk.hpp"

namespace pipewright::analysis {

std::vector<CriticalPiece> critical_path(const trace::Trace& trace) {
  return critical_path(trace, TraceIndex(trace));
}

std::vector<CriticalPiece> critical_path(const trace::Trace& trace, const TraceIndex& index) {
  return CriticalWalk(trace, index).walk();
}

const char* words(CriticalPart part) {
  static constexpr std::array<const char*, critical_parts> all{
      "compute",           "collectives in passes", "transfers",         "rendezvous",
      "blocked sends",     "weights gathered",      "gradients reduced", "embeddings reduced",
      "norm of gradients", "optimizer's step",      "other replicas",    "not known"};
  return all.at(static_cast<std::size_t>(part));
}

}  // namespace pipewright::analysis
