#pragma once

#include <cstdint>
#include <vector>

// Cost of generating tokens on an engine: the GPUs that hold one copy of the weights and decode a
// batch of sequences together.
namespace pipewright::rl {

// A measured point of an engine: tokens/s of the whole batch.
struct DecodePoint {
  double batch = 0;
  double tokens_per_s = 0;

  bool operator==(const DecodePoint&) const = default;
};

// Time of a decode step, in which each sequence of the batch gets one token. By default it follows
// from what a step must read and compute (roofline model, Williams et al. 2009): the weights once,
// the keys and values of all tokens before, and 2 FLOP per active parameter and sequence. Measured
// points replace this model.
struct DecodeCost {
  double weight_bytes = 0;    // of dense weights on one GPU
  double expert_bytes = 0;    // of all routed experts on one GPU
  std::uint32_t experts = 0;  // routed experts of a layer; 0: none
  std::uint32_t top_k = 1;    // experts of a token
  double bytes_per_token =
      0;  // keys and values of a token on one GPU, in layers that see all tokens
  double bytes_per_sequence = 0;   // of the windows of a sequence in layers that see no others
  double flop_per_token = 0;       // on one GPU
  double bandwidth = 0;            // bytes/s that a GPU reads
  double flops = 0;                // FLOP/s that a GPU reaches
  double fixed = 0;                // seconds of a step beside kernels: host, collectives
  double prefill_per_token = 0;    // seconds of a token of a prompt
  std::vector<DecodePoint> table;  // ascending batches; empty: the model

  // Seconds of a step of `batch` sequences that have `context` tokens together.
  double step(std::uint64_t batch, double context) const;
  // Seconds of `steps` steps, each of which adds a token to each sequence.
  double steps(std::uint64_t batch, double context, std::uint64_t steps) const;
  // Largest number of steps, up to `max_steps`, that take at most `seconds`.
  std::uint64_t steps_within(std::uint64_t batch, double context, std::uint64_t max_steps,
                             double seconds) const;
};

}  // namespace pipewright::rl
