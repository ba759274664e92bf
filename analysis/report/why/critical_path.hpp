#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/why/replicas.hpp"
#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// Kind of activity or wait that a piece of the critical path consists of.
enum class CriticalPart : std::uint8_t {
  compute,         // a pass, without its waits for collectives inside it
  in_passes,       // waits of a pass for tensor, context and expert collectives
  transfer,        // a boundary tensor, from the end of the pass that produced it to its arrival
  rendezvous,      // a tensor waits until its receiver is ready
  blocked_send,    // the device waits for its own send
  weights,         // gathering of sharded weights
  gradients,       // reduction of gradients
  embeddings,      // reduction of tied embeddings
  norm,            // norm of all gradients
  optimizer,       // optimizer step
  other_replicas,  // the run waits for a replica of which there is no trace
  other,           // unknown: the trace shows no cause
};
inline constexpr int critical_parts = 12;

inline constexpr std::size_t no_pass = std::numeric_limits<std::size_t>::max();

struct CriticalPiece {
  CriticalPart part = CriticalPart::other;
  double start = 0;
  double end = 0;
  std::uint32_t device = 0;    // the receiver of a transfer
  std::size_t pass = no_pass;  // row of trace.passes, for compute and in_passes
  std::uint32_t stage = 0;     // stage of the pass, of the tensor's producer, or of the collective
  std::uint32_t microbatch = 0;
  std::uint32_t link = trace::no_link;  // row of trace.links, if the table `paths` has it
  double alone = 0;           // duration in seconds without other traffic on its links; 0: unknown
  std::uint32_t replica = 0;  // replica whose trace has the rows of this piece
  std::size_t row = no_row;   // row of trace.transfers or trace.collectives, if the piece has one

  bool operator==(const CriticalPiece&) const = default;
};

// The chain of passes, transfers and waits that determines the makespan, in order of time: the
// first piece starts at 0, each piece starts when the previous one ends, and the last ends at the
// makespan. A trace without arrival times of inputs gives a single piece of kind `other`. The path
// continues in the trace of a replica for which the others wait, if there is one.
std::vector<CriticalPiece> critical_path(Replicas& run);
std::vector<CriticalPiece> critical_path(const TraceIndex& index);

// "transfers", "gradients reduced"
const char* words(CriticalPart part);

// Total of the pieces of one kind on the critical path, in seconds.
struct PathShare {
  CriticalPart part = CriticalPart::other;
  trace::PassKind kind = trace::PassKind::forward;  // for compute
  std::string link_class;                           // for communication; empty: unknown
  double seconds = 0;
  // Seconds lost to other traffic on the same links, if the trace has uncontended durations.
  std::optional<double> contention_s;
  std::uint64_t pieces = 0;
};

struct StageShare {
  std::uint32_t stage = 0;
  double seconds = 0;  // compute and collectives inside its passes
};

struct PathSplit {
  std::vector<PathShare> parts;    // longest first; their seconds add up to the makespan
  std::vector<StageShare> stages;  // longest first
  double computing_s = 0;
  double communication_s = 0;  // collectives inside passes, transfers, collectives, norm
  double optimizer_s = 0;
  double waiting_s = 0;  // rendezvous, other replicas, and unknown causes
};

PathSplit split_path(Replicas& run, const std::vector<CriticalPiece>& path);
PathSplit split_path(const TraceIndex& index, const std::vector<CriticalPiece>& path);

}  // namespace pipewright::analysis
