#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/post_training.hpp"

// Cost of generating tokens on an engine: the GPUs that hold one copy of the weights and decode a
// batch of sequences together.
namespace pipewright::rl {

using DecodePoint = config::PostTraining::Point;

// Time of a decode step, which adds one token to each sequence of the batch. By default it is a
// roofline (Williams et al. 2009): a step reads the weights once and the keys and values of all
// earlier tokens, and computes 2 FLOP per active parameter and sequence. Measured points replace
// this model.
struct DecodeCost {
  // Bytes and FLOP are those of one GPU of the engine.
  double weight_bytes = 0;    // all weights but routed experts
  double expert_bytes = 0;    // all routed experts
  std::uint32_t experts = 0;  // routed experts in a layer; 0: none
  std::uint32_t top_k = 1;    // experts that a token uses
  // Keys and values of a token, in layers whose attention sees all tokens.
  double bytes_per_token = 0;
  // Keys and values of a sequence, in layers whose attention sees a window.
  double bytes_per_sequence = 0;
  double flop_per_token = 0;
  double bandwidth = 0;            // bytes/s that a GPU reads from its memory
  double flops = 0;                // FLOP/s that a GPU reaches
  double overhead = 0;             // seconds per step for the host and collectives
  double prefill_per_token = 0;    // seconds per prompt token
  std::vector<DecodePoint> table;  // measured points by ascending batch; empty: the roofline

  // Returns the seconds of a step of `batch` sequences with `context` tokens in total.
  double step(std::uint64_t batch, double context) const;
  // Returns the seconds of `steps` successive steps, between which the context grows.
  double steps(std::uint64_t batch, double context, std::uint64_t steps) const;
  // Returns the largest number of steps, up to `max_steps`, that take at most `seconds`.
  std::uint64_t steps_within(std::uint64_t batch, double context, std::uint64_t max_steps,
                             double seconds) const;
};

}  // namespace pipewright::rl
