#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// What a piece of the critical path is.
enum class CriticalPart : std::uint8_t {
  compute,         // a pass, without its waits for collectives within it
  in_passes,       // and those waits: tensor, context and expert collectives
  transfer,        // a boundary tensor, from the end of the pass that made it to its arrival
  rendezvous,      // the tensor waits until its receiver is ready
  blocked_send,    // the device waits for its own send
  weights,         // gathered
  gradients,       // reduced
  embeddings,      // tied
  norm,            // of all gradients
  optimizer,       // its step
  other_replicas,  // a collective waits for replicas that the trace does not show
  other,           // the trace does not say what
};
inline constexpr int critical_parts = 12;

inline constexpr std::size_t no_pass = std::numeric_limits<std::size_t>::max();

struct CriticalPiece {
  CriticalPart part = CriticalPart::other;
  double start = 0;
  double end = 0;
  std::uint32_t device = 0;    // on which; of a transfer the one that receives
  std::size_t pass = no_pass;  // row of trace.passes, of compute and in_passes
  std::uint32_t stage = 0;     // of the pass, of the one that made the tensor, or of the collective
  std::uint32_t microbatch = 0;
  std::uint32_t link = trace::no_link;  // row of trace.links, where the trace says (table `paths`)
  double alone = 0;  // seconds that it takes when nothing else is on its way; 0: unknown

  bool operator==(const CriticalPiece&) const = default;
};

// The chain of passes, transfers and waits that fixes the makespan, in order of time: each piece
// begins when the one before ends, the first at 0 and the last ends at the makespan. One piece that
// is not known where the trace does not say when inputs arrived.
std::vector<CriticalPiece> critical_path(const TraceIndex& index);

// "transfers", "gradients reduced"
const char* words(CriticalPart part);

// What part of the critical path something has.
struct PathShare {
  CriticalPart part = CriticalPart::other;
  trace::PassKind kind = trace::PassKind::forward;  // of compute
  std::string link_class;                           // of communication; empty: not known
  double seconds = 0;
  // By how much it took longer than alone on its way, where the trace knows that.
  std::optional<double> contention_s;
  std::uint64_t pieces = 0;
};

struct StageShare {
  std::uint32_t stage = 0;
  double seconds = 0;  // compute and collectives within its passes
};

struct PathSplit {
  std::vector<PathShare> parts;    // that took most first; their seconds sum up to the makespan
  std::vector<StageShare> stages;  // likewise
  double computing_s = 0;
  double communication_s = 0;  // collectives within passes, transfers, collectives, norm
  double optimizer_s = 0;
  double waiting_s = 0;  // rendezvous, other replicas, and what is not known
};

PathSplit split_path(const trace::Trace& trace, const std::vector<CriticalPiece>& path);

}  // namespace pipewright::analysis
