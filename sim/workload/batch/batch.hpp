#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/training.hpp"

namespace pipewright::workload {

// What attention and all else depend on: tokens, and the sum of the squares of documents' lengths.
struct TokenCounts {
  double tokens = 0;
  double squares = 0;

  void add(double length) {
    tokens += length;
    squares += length * length;
  }
  // The length of documents that are all as long, of as many tokens and squares.
  double document() const { return tokens > 0 ? squares / tokens : 0; }
  TokenCounts& operator+=(const TokenCounts& other) {
    tokens += other.tokens;
    squares += other.squares;
    return *this;
  }
};

// A microbatch of documents: what its passes work on, padding included, and what there is to learn
// from.
struct Microbatch {
  TokenCounts computed;
  TokenCounts real;
  std::vector<std::uint32_t> documents;  // as computed, tokens each
};

// The documents of a run, dealt out to the microbatches of all replicas. Packed, they fill samples
// of `sequence` tokens to the last one, and what is longer than is left goes on in another, where
// it attends to none of what came before. Else a sample is a document of at most `sequence` tokens,
// padded.
//
// As they come, samples go to microbatches as Megatron-LM's sampler deals them: in turn to the
// replicas' first microbatches, to their second. By length, packed documents go, the longest first,
// to the microbatch of the iteration with the least sum of squares, where they do not fit to that
// with most room, and are cut where they fit nowhere: the greedy rule of WLB-LLM (arXiv 2503.17924,
// algorithm 1), of microbatches of as many tokens. Samples of one document go by length to
// microbatches, and these, the longest first, to the replica with the fewest tokens so far.
//
// Replicas are counted by their work in an iteration: the first has most.
struct Batch {
  std::uint32_t replicas = 1;
  std::uint32_t microbatches = 1;  // of a replica, of all iterations
  std::vector<Microbatch> all;     // by replica and microbatch
  TokenCounts computed;            // of the mean microbatch
  TokenCounts real;

  const Microbatch& of(std::uint32_t replica, std::uint32_t microbatch) const {
    return all[std::size_t{replica} * microbatches + microbatch];
  }
};

Batch deal(const config::Lengths& lengths, std::uint32_t sequence, std::uint32_t microbatch_size);

// The same, once for all that ask for it in turn. Of training that has lengths.
std::shared_ptr<const Batch> batch_of(const config::Training& training, std::uint32_t sequence);

}  // namespace pipewright::workload
