#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/config/training.hpp"

namespace pipewright::workload {

// Token counts that determine the work of a microbatch: attention is proportional to the sum of the
// squared document lengths, all other work to the number of tokens.
struct TokenCounts {
  double tokens = 0;
  double squares = 0;

  void add(double length) {
    tokens += length;
    squares += length * length;
  }
  // Length of the documents in a batch of equally long documents with the same sums.
  double document() const { return tokens > 0 ? squares / tokens : 0; }
  TokenCounts& operator+=(const TokenCounts& rhs) {
    tokens += rhs.tokens;
    squares += rhs.squares;
    return *this;
  }
};

// A document that `ranks` ranks share in equal parts.
struct SharedDocument {
  std::uint32_t tokens = 0;
  std::uint32_t ranks = 1;
};
// Documents of each rank of dp x cp, which the ranks compute between two barriers.
using SharedDocuments = std::vector<std::vector<SharedDocument>>;

// A microbatch of documents. `computed` counts all tokens that its passes process, with padding;
// `real` counts only the tokens that are trained on.
struct Microbatch {
  TokenCounts computed;
  TokenCounts real;
  std::vector<std::uint32_t> documents;  // tokens of each document, with padding
  // Documents of an iteration, one group after the other, if balance is context_parallel: those of
  // all microbatches of all replicas, each of which counts an equal part as `computed` and `real`.
  std::shared_ptr<const std::vector<SharedDocuments>> groups;
};

// Documents of a run, dealt out to the microbatches of all replicas.
//
// Packed documents fill samples of `sequence` tokens completely. A document longer than the
// remaining space continues in another sample, where it does not attend to its earlier part. By
// first fit, samples have whole documents (packing.hpp). Without packing, a sample is one document
// of at most `sequence` tokens. Samples of whole documents are padded.
//
// Without balancing, samples go to microbatches in the order of Megatron-LM's sampler: in turn to
// the first microbatches of the replicas, then to the second ones. Balancing by length works within
// an iteration. Packed documents go, the longest first, to the microbatch with the smallest sum of
// squares; those that do not fit go to the microbatch with the most room, and are cut if they fit
// nowhere. This is the greedy rule of WLB-LLM (arXiv 2503.17924, algorithm 1) for microbatches with
// equally many tokens. Samples of one document are sorted by length and grouped into microbatches,
// which go, the longest first, to the replica with the fewest tokens so far.
//
// Dynamic context parallelism shares each document among as many ranks of dp x cp as it needs
// (context_groups.hpp). The groups of documents are divided over the microbatches in order.
//
// Replicas are numbered by falling work in each iteration: replica 0 has the most.
struct Batch {
  std::uint32_t replicas = 1;
  std::uint32_t microbatches = 1;            // per replica, over all iterations
  std::vector<Microbatch> all_microbatches;  // by replica and microbatch
  TokenCounts computed;                      // mean of the microbatches
  TokenCounts real;
  double documents = 0;  // mean number of a microbatch's documents

  const Microbatch& at(std::uint32_t replica, std::uint32_t microbatch) const {
    return all_microbatches[std::size_t{replica} * microbatches + microbatch];
  }
};

// Draws the documents of a run and distributes them over the microbatches of all replicas.
Batch deal(const config::Lengths& lengths, std::uint32_t sequence, std::uint32_t microbatch_size);

// Return the batch of documents with these lengths, or with the configured lengths of a training.
// Each thread caches recent batches.
std::shared_ptr<const Batch> batch_of(const config::Lengths& lengths, std::uint32_t sequence,
                                      std::uint32_t microbatch_size);
std::shared_ptr<const Batch> batch_of(const config::Training& training, std::uint32_t sequence);

}  // namespace pipewright::workload
