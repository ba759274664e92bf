#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace pipewright::analysis {

// What one iteration of a job gets done, and on what. 0 where it is not known.
struct IterationWork {
  std::uint64_t gpus = 0;
  double samples = 0;
  double tokens = 0;
  // Of forward and backward, without what is recomputed: causal attention counted once, or its
  // whole square of scores.
  double model_flop = 0;
  double full_attention_flop = 0;
  double peak_flops = 0;  // FLOP/s of all GPUs together
  // Of weeks of such iterations, the part that is no training which lasts, or the least that it can
  // be.
  double lost_part = 0;
};

// What a search is for. A cost is what it makes small: never more for less time of an iteration.
struct Objective {
  enum class Kind : std::uint8_t {
    throughput,     // tokens a second, or samples where tokens are not known
    mfu,            // model FLOPs utilisation
    time_to_train,  // seconds for `tokens`
    price,          // of GPU-hours for `tokens`
    memory,         // the fullest device's, with a throughput of `floor` at least
    tokens_a_day,   // of weeks in which things fail, or samples
  };
  Kind kind = Kind::throughput;
  double tokens = 0;
  double price_per_gpu_hour = 0;
  std::string currency = "$";
  double deadline_s = 0;          // of `price`: what takes longer is infinitely dear; 0: none
  double floor = 0;               // per second
  bool floor_in_samples = false;  // else tokens
  std::uint32_t seeds = 20;       // of `tokens_a_day`: weeks with other failures each
};

// In seconds per token (or sample), 1 / MFU, seconds, money, bytes, or days per token; infinite for
// what does not reach the floor.
double cost(const Objective& objective, const IterationWork& work, double time_s,
            std::uint64_t peak_bytes);

// What people call it, and a cost in their unit: "throughput", "812 k tokens/s".
std::string name_of(const Objective& objective);
std::string shown(const Objective& objective, const IterationWork& work, double cost);

// Tokens a second, or samples; and model FLOP/s over peak, by both counts. 0: not known.
double throughput(const IterationWork& work, double time_s);
// What of that is left of weeks, in a day.
double done_a_day(const IterationWork& work, double time_s);
double mfu(const IterationWork& work, double time_s);
double mfu_full_attention(const IterationWork& work, double time_s);

// Seconds of an iteration per token of it, or per sample where tokens are not known.
double seconds_per_unit(const IterationWork& work, double time_s);

}  // namespace pipewright::analysis
