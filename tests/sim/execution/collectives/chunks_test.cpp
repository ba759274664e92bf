#include "sim/execution/collectives/chunks.hpp"

#include <catch2/catch.hpp>

// Tests NCCL's sizes of chunks against values computed by hand from calcCollChunking of
// src/enqueue.cc.

using namespace pipewright;
using cluster::Protocol;
using execution::bytes_at_once;
using execution::Chunking;

namespace {

constexpr double kib = 1024;
constexpr double mib = 1024 * kib;

}  // namespace

TEST_CASE("a tree by Simple moves 512 KiB in each channel", "[chunks]") {
  const Chunking tree{.kind = Chunking::Kind::tree, .streams = 16, .nodes = 2, .ranks_per_node = 8};
  CHECK(bytes_at_once(tree, Protocol::simple, 4 * mib) == 4 * mib);
  CHECK(bytes_at_once(tree, Protocol::simple, 1024 * mib) == 16 * 512 * kib);
  // Until NCCL 2.18, chunks were halved to 128 KiB while a channel had fewer than 64 of them: eight
  // for each of the eight levels of a chain of seven hops and a tree of one.
  Chunking old = tree;
  old.nccl = 18;
  CHECK(bytes_at_once(old, Protocol::simple, 64 * mib) == 16 * 128 * kib);
  CHECK(bytes_at_once(old, Protocol::simple, 1024 * mib) == 16 * 512 * kib);
}

TEST_CASE("a tree by LL128 halves its chunks until there are enough", "[chunks]") {
  const Chunking tree{.kind = Chunking::Kind::tree, .streams = 16, .nodes = 2, .ranks_per_node = 8};
  // A slot has 576,000 bytes of payload. A channel with 1 MiB has too few chunks (22.4 are wanted,
  // for 2.8 steps) until the chunk is below 128 KiB.
  CHECK(bytes_at_once(tree, Protocol::ll128, 16 * mib) == 16 * 72000);
  CHECK(bytes_at_once(tree, Protocol::ll128, 8192 * mib) == 16 * 576000);
}

TEST_CASE("a tree of NVSwitches moves a chunk in each channel and for each GPU", "[chunks]") {
  const Chunking tree{
      .kind = Chunking::Kind::nvls_tree, .streams = 16 * 8, .nodes = 8, .ranks_per_node = 8};
  CHECK(bytes_at_once(tree, Protocol::simple, 1024 * mib) == 128 * 128 * kib);
  CHECK(bytes_at_once(tree, Protocol::simple, 48 * mib) == 128 * 64 * kib);
  CHECK(bytes_at_once(tree, Protocol::simple, 2 * mib) == 2 * mib);
}

TEST_CASE("a ring goes round once for a chunk of each rank and channel", "[chunks]") {
  const Chunking ring{.kind = Chunking::Kind::ring, .streams = 2, .ring_ranks = 2};
  CHECK(further_rounds(ring, Protocol::simple, 8 * mib) == 0);
  CHECK(further_rounds(ring, Protocol::simple, 64 * mib) == 7);
  CHECK(further_rounds(ring, Protocol::simple, 8192 * mib) == 16);
  CHECK(further_rounds(ring, Protocol::ll, 512 * kib) == 3);
  CHECK(further_rounds(Chunking{}, Protocol::simple, 8192 * mib) == 0);
}
