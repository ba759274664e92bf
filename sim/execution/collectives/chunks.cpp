#include "sim/execution/collectives/chunks.hpp"

#include <algorithm>
#include <cmath>

namespace pipewright::execution {
namespace {

using cluster::Protocol;

constexpr double kib = 1024;

// Payload of one of the eight slots of a channel's buffer, in bytes: Simple 4 MiB / 8; LL 512
// threads x 8 lines x 16 B, half of them flags; LL128 640 threads x 120 x 8 B, 15 of 16 payload.
double slot_bytes(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return 32 * kib;
    case Protocol::ll128:
      return 576000;
    default:
      return 512 * kib;
  }
}

// Halves the chunk while fewer than `fewest` chunks fit into the bytes of a stream.
double halved(double chunk, double stream_bytes, double fewest, double smallest) {
  while (stream_bytes / chunk < fewest && chunk > smallest) chunk /= 2;
  return chunk;
}

double tree_chunk(const Chunking& chunking, Protocol protocol, double stream_bytes) {
  double chunk = slot_bytes(protocol);
  const double tree_levels = std::floor(std::log2(chunking.nodes));
  if (protocol == Protocol::ll128) {
    const double steps = 1 + tree_levels + 0.1 * chunking.ranks_per_node;
    chunk = halved(chunk, stream_bytes, steps * 64 / chunking.ranks_per_node, 128 * kib);
    return halved(chunk, stream_bytes, steps * 16 / chunking.ranks_per_node, 32 * kib);
  }
  if (protocol == Protocol::simple && chunking.nccl < 19) {
    const double depth = chunking.ranks_per_node - 1 + tree_levels;
    chunk = halved(chunk, stream_bytes, depth * 8, 128 * kib);
    chunk = halved(chunk, stream_bytes, depth * 4, 64 * kib);
    return halved(chunk, stream_bytes, depth, 32 * kib);
  }
  return chunk;
}

double nvls_tree_chunk(double stream_bytes) {
  double chunk = 128 * kib;
  chunk = halved(chunk, stream_bytes, 4, 64 * kib);
  return halved(chunk, stream_bytes, 1, 32 * kib);
}

}  // namespace

double further_rounds(const Chunking& chunking, Protocol protocol, double bytes) {
  constexpr double rounds_in_step = 16;
  if (chunking.kind != Chunking::Kind::ring) return 0;
  // Simple has four slots to a chunk (ALLREDUCE_CHUNKSTEPS).
  const double chunk = slot_bytes(protocol) * (protocol == Protocol::simple ? 4 : 1);
  const double round = chunking.streams * chunking.ring_ranks * chunk;
  return std::clamp(bytes / round - 1, 0.0, rounds_in_step);
}

double bytes_at_once(const Chunking& chunking, Protocol protocol, double bytes) {
  if (chunking.kind == Chunking::Kind::whole || chunking.kind == Chunking::Kind::ring) return bytes;
  const double stream_bytes = bytes / chunking.streams;
  const double chunk = chunking.kind == Chunking::Kind::tree
                           ? tree_chunk(chunking, protocol, stream_bytes)
                           : nvls_tree_chunk(stream_bytes);
  return std::min(bytes, chunking.streams * chunk);
}

}  // namespace pipewright::execution
