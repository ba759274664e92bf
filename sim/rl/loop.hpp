#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/rl/decode.hpp"

// Discrete-event simulation of reinforcement learning of a language model: engines generate
// responses, a trainer updates the weights with the responses of a step, and the new weights go
// back to the engines.
namespace pipewright::rl {

// A loop of generation, training and weight synchronisation.
struct Loop {
  std::uint32_t steps = 10;
  std::uint32_t batch = 0;  // responses in a step
  std::uint32_t group = 1;  // responses to a prompt, all of which belong to the same step
  // Lengths of the responses in tokens, in the order in which they start, repeated as needed.
  std::vector<std::uint32_t> responses;
  double prompt = 0;          // tokens in a prompt, the context of a new response
  double prefill_tokens = 0;  // prompt tokens that an engine computes for each response
  std::uint32_t engines = 1;
  DecodeCost decode;
  std::uint64_t max_sequences = 0;  // largest number of sequences on an engine at a time
  double cache_tokens = 0;          // tokens whose keys and values an engine can hold; 0: no limit
  double training = 0;              // seconds per step for log-probabilities and optimizer steps
  double sync = 0;      // seconds until the engines have new weights; engines and trainer wait
  double overhead = 0;  // seconds per step for rewards and data, in which the trainer waits
  // Number of versions by which the weights of a new response may be older than those of the
  // trainer; 0: on-policy training. At most (version + lag + 1) batches are started while the
  // trainer has `version` (AReaL, arXiv 2505.24298, equation 3).
  std::uint32_t lag = 0;
  bool records_engines = false;  // fill LoopOutcome::engine_spans
};

// Time in which an engine generates with a constant number of responses, in seconds from the start
// of the loop.
struct EngineSpan {
  double start = 0;
  double end = 0;
  std::size_t responses = 0;
};

// Times of a step, in seconds from the start of the loop.
struct LoopStep {
  double generated = 0;  // end of the last response that the step trains on
  double trains = 0;     // start of the training
  double trained = 0;    // end of the training
  double synced = 0;     // arrival of the new weights at the engines
};

struct LoopOutcome {
  std::vector<LoopStep> steps;
  double seconds_per_step = 0;  // mean of the steady state
  // Mean time from the arrival of new weights at the engines to the end of the last response that
  // the next step trains on. Off policy it may be negative, since that response may end earlier.
  double generation = 0;
  double engines_busy = 0;  // share of the steady state in which the mean engine generates
  double least_busy = 0;    // as engines_busy, of the engine that generates the shortest time
  double most_busy = 0;     // as engines_busy, of the engine that generates the longest time
  double trainer_busy = 0;  // share of the steady state in which the trainer trains
  double mean_batch = 0;    // mean over time of the sequences on an engine that generates
  std::vector<EngineSpan> engine_spans;  // spans of all engines, one engine after the other
};

// Simulates the loop. A response goes to the engine with the fewest responses, which adds a token
// to each of them in every decode step. The trainer takes prompts in the order in which the last of
// their responses ends.
LoopOutcome simulate(const Loop& loop);

}  // namespace pipewright::rl
