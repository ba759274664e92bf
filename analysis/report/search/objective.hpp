#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace pipewright::analysis {

// Work that one iteration of a job does, and the number of GPUs that do it. Unknown numbers are 0.
struct IterationWork {
  std::uint64_t gpus = 0;
  double samples = 0;
  double tokens = 0;
  // FLOP of forward and backward passes without recomputation. Causal attention counts half of the
  // scores, full attention all of them.
  double model_flop = 0;
  double full_attention_flop = 0;
  double peak_flops = 0;  // FLOP/s of all GPUs together
  // Share of the time of a goodput run that brings no lasting training progress, or a lower bound
  // of this share.
  double lost_part = 0;
};

// Goal of a search, which minimizes a cost. The cost never rises as the iteration time falls.
struct Objective {
  enum class Kind : std::uint8_t {
    throughput,     // tokens per second, or samples if tokens are unknown
    mfu,            // model FLOPs utilisation
    time_to_train,  // seconds for `tokens`
    price,          // price of the GPU-hours for `tokens`
    memory,         // peak of the fullest device, with a throughput of at least `floor`
    tokens_a_day,   // tokens or samples per day of a goodput run
  };
  Kind kind = Kind::throughput;
  double tokens = 0;
  double price_per_gpu_hour = 0;
  std::string currency = "$";
  double deadline_s = 0;          // a later end makes `price` infinite; 0: no deadline
  double floor = 0;               // per second
  bool floor_in_samples = false;  // false: in tokens
  std::uint32_t seeds = 20;       // goodput runs for `tokens_a_day`, each with its own failures
};

// Returns the cost in seconds per token (or sample), 1 / MFU, seconds, money, bytes, or days per
// token. It is infinite if the floor or the deadline is missed.
double cost(const Objective& objective, const IterationWork& work, double time_s,
            std::uint64_t peak_bytes);

// Returns the name of an objective, "throughput", and a cost in its unit, "812 k tokens/s".
std::string name_of(const Objective& objective);
std::string cost_text(const Objective& objective, const IterationWork& work, double cost);

// Returns tokens per second, or samples if tokens are unknown; 0 if both are unknown.
double throughput(const IterationWork& work, double time_s);
// Returns the tokens (or samples) that a job trains per day, after losses by failures and
// checkpoints.
double work_per_day(const IterationWork& work, double time_s);
// Return the model FLOP/s as a share of the GPUs' peak FLOP/s, with half of the scores of causal
// attention or with all of them; 0 if unknown.
double mfu(const IterationWork& work, double time_s);
double mfu_full_attention(const IterationWork& work, double time_s);

// Returns the seconds that one token takes, or one sample if tokens are unknown: the iteration time
// divided by the number per iteration.
double seconds_per_unit(const IterationWork& work, double time_s);

}  // namespace pipewright::analysis
