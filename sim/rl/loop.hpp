#pragma once

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
  std::uint32_t batch = 0;  // responses of a step
  std::uint32_t group = 1;  // responses of a prompt, which are trained on together
  // Tokens of the responses in the order in which they are started, repeated as needed.
  std::vector<std::uint32_t> responses;
  double prompt = 0;          // tokens of a prompt, the context of a new response
  double prefill_tokens = 0;  // tokens of a prompt that are computed for each response
  std::uint32_t engines = 1;
  DecodeCost decode;
  std::uint64_t max_sequences = 0;  // of an engine at a time
  double cache_tokens = 0;          // tokens whose keys and values an engine can hold; 0: any
  double training = 0;  // seconds of a step on the trainer: log-probabilities, reference, updates
  double sync = 0;      // seconds until the engines have new weights; engines and trainer wait
  double fixed = 0;     // seconds of a step beside all of these, in which the trainer waits
  // Number of versions that the weights may be older than those of the trainer when a response is
  // started: 0 is on-policy training. At most (version + lag + 1) batches are started while the
  // trainer has `version` (AReaL, arXiv 2505.24298, equation 3).
  std::uint32_t lag = 0;
};

// Times of a step, in seconds from the start of the loop.
struct LoopStep {
  double generated = 0;  // the last response that the step trains on is complete
  double trains = 0;     // the trainer starts
  double trained = 0;    // the trainer ends
  double synced = 0;     // the engines have the new weights
};

struct LoopOutcome {
  std::vector<LoopStep> steps;
  double seconds_per_step = 0;  // in the steady state
  // Mean time from new weights on the engines to the last response that the next step trains on.
  // Not above 0 if that is complete before, as off policy.
  double generation = 0;
  double engines_busy = 0;  // share of the steady state in which the mean engine generates
  double trainer_busy = 0;  // share of the steady state in which the trainer trains
  double mean_batch = 0;    // sequences of an engine while it generates, mean over time
};

// Simulates the loop. A response goes to the engine with the fewest responses, which decodes all of
// them in step. The trainer takes the prompts of a step in the order in which all of their
// responses are complete.
LoopOutcome simulate(const Loop& loop);

}  // namespace pipewright::rl
