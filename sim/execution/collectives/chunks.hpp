#pragma once

#include <cstdint>

#include "sim/cluster/message_model.hpp"

namespace pipewright::execution {

// Chunks into which NCCL cuts a collective (calcCollChunking of src/enqueue.cc). Chunks follow each
// other through the levels of a tree. A level passes on a chunk when it has the whole chunk, so a
// pipeline of few chunks takes longer than its busiest link. A ring between nodes goes round with a
// chunk of each rank, and begins the next round when it has all of them.
struct Chunking {
  enum class Kind : std::uint8_t { whole, ring, tree, nvls_tree };

  Kind kind = Kind::whole;
  // Chunks that move at once: one for each channel, and for NVLSTree one for each channel and each
  // GPU of a node that sums a part.
  double streams = 1;
  double nodes = 1;           // nodes of a tree
  double ranks_per_node = 1;  // ranks of a tree in each node
  double ring_ranks = 1;      // ranks of a ring
  std::uint32_t nccl = 27;    // version of NCCL: 27 for 2.27

  bool operator==(const Chunking&) const = default;
};

// NCCL_MAX_NVLS_ARITY: number of GPUs of an NVLink domain that can sum parts.
inline constexpr double max_nvls_parts = 32;

// Number of rounds of a ring after the first one. At most 16 rounds count: the channels of a NIC
// are then out of step, and one of them transfers while the others wait.
double further_rounds(const Chunking& chunking, cluster::Protocol protocol, double bytes);

// Bytes that move at once through a level: a chunk of each stream, or all bytes if they are fewer.
double bytes_at_once(const Chunking& chunking, cluster::Protocol protocol, double bytes);

}  // namespace pipewright::execution
