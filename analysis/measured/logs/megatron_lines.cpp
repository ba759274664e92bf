#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"

// Lines of Megatron-LM (megatron/training/training.py, megatron/core/timers.py) and of its
// descendants: Megatron-DeepSpeed joins words or gives seconds (as for BLOOM), Primus adds a mean
// after a slash, GPT-NeoX begins with samples/sec, and Megatron-Bridge has FLOP/s in a line before.
namespace pipewright::analysis {
namespace {

constexpr double megatron_millisecond = 1e-3;
constexpr double megatron_tera = 1e12;
using Block = LogBuilder::Block;

bool is_time(std::optional<double> ms) { return ms && std::isfinite(*ms) && *ms >= 0; }

Block block_start(std::string_view line) {
  if (contains(line, "(min, max) time across ranks (ms):")) return Block::min_max;
  if (contains(line, "max time across ranks (ms):")) return Block::max_only;
  if (contains(line, "times across ranks (ms):")) return Block::per_rank;
  return Block::none;
}

// Words before the time of an iteration, with the unit of the time in seconds.
struct IterationTime {
  std::string_view words;
  double unit;
};
constexpr std::array iteration_times{
    IterationTime{"elapsed time per iteration (ms):", megatron_millisecond},
    IterationTime{"elapsed_time_per_iteration_ms=", megatron_millisecond},
    IterationTime{"elapsed time per iteration (s):", 1}};

// Returns the number of the iteration at the beginning of a line, before the words of its time.
std::optional<std::uint64_t> iteration_number(std::string_view line, std::string_view time_words) {
  std::string_view head = after(line.substr(0, line.find(time_words)), "iteration");
  while (!head.empty() && (head.front() == ' ' || head.front() == '=')) head.remove_prefix(1);
  return take_number<std::uint64_t>(head);
}

void take_megatron_figures(std::string_view line, LogIteration& iteration) {
  iteration.samples_per_s =
      value_of_any(line, {"samples_per_second", "samples per second", "samples/sec"});
  iteration.tokens_per_gpu_s =
      value_of_any(line, {"tokens per GPU (tokens/s/GPU)", "tokens/s/GPU inst/harmonic mean",
                          "tokens_per_gpu_per_second_tgs", "tokens per gpu per second (tgs)"});
  iteration.batch_samples = value_of_any(line, {"global batch size", "global_batch_size"});
  iteration.consumed_samples = value_of_any(line, {"consumed samples", "consumed_samples"});
  for (const std::string_view words :
       {"per GPU (TFLOP/s/GPU)", "TFLOPs", "approx flops per GPU", "tflops_per_gpu"})
    if (const auto tflops = value_of(line, words)) {
      iteration.flops_per_gpu = *tflops * megatron_tera;
      break;
    }
}

bool take_megatron_iteration(std::string_view line, LogBuilder& log) {
  for (const IterationTime& time : iteration_times) {
    std::string_view rest = after(line, time.words);
    if (rest.data() == nullptr) continue;
    const auto value = take_number<double>(rest);
    if (!is_time(value)) log.fail("the time of the iteration is not a number");
    const auto number = iteration_number(line, time.words);
    if (!number) log.fail("the iteration has no number");
    LogIteration& iteration = log.iteration(*number);
    iteration.elapsed_s = *value * time.unit;
    take_megatron_figures(line, iteration);
    log.block = Block::none;
    return true;
  }
  return false;
}

// Reads the line that Megatron-Bridge prints before that of an iteration: "Step Time : 5.42s GPU
// utilization: 383.4MODEL_TFLOP/s/GPU".
bool take_bridge_flops(std::string_view line, LogBuilder& log) {
  if (!contains(line, "MODEL_TFLOP/s/GPU")) return false;
  if (const auto tflops = number_after(line, "GPU utilization:"))
    log.store_flops(*tflops * megatron_tera);
  return true;
}

void take_rank_timer(std::string_view name, std::string_view rest, LogBuilder& log,
                     bool& is_taken) {
  if (rest.empty()) {
    log.block_timer = name;
    is_taken = !name.empty();
    return;
  }
  std::string_view rank_text = after(name, "rank");
  const auto rank = take_number<std::uint32_t>(rank_text);
  const auto ms = take_number<double>(rest);
  if (!rank || log.block_timer.empty()) return;
  if (!is_time(ms)) log.fail("the timer is not a number of milliseconds");
  is_taken = true;
  LogIteration* const last = log.last();
  if (last == nullptr) return;  // Timers before the first iteration belong to the start-up.
  LogTimer& timer = last->timers[log.block_timer];
  const double seconds = *ms * megatron_millisecond;
  timer.least_s = timer.of_rank.empty() ? seconds : std::min(timer.least_s, seconds);
  timer.most_s = std::max(timer.most_s, seconds);
  timer.of_rank[*rank] = seconds;
}

// Reads "forward-compute ......: (100.00, 110.00)" or ": 110.00", or the name of a timer that one
// line per rank follows.
bool take_block_timer(std::string_view line, LogBuilder& log) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view name = trimmed(line.substr(0, colon));
  while (!name.empty() && name.back() == '.') name.remove_suffix(1);
  name = trimmed(name);
  std::string_view rest = trimmed(line.substr(colon + 1));
  bool is_taken = false;
  if (log.block == Block::per_rank) {
    take_rank_timer(name, rest, log, is_taken);
    return is_taken;
  }
  const bool is_range = log.block == Block::min_max && !rest.empty() && rest.front() == '(';
  if (is_range) rest.remove_prefix(1);
  const auto min_ms = take_number<double>(rest);
  if (!min_ms) return false;
  if (!rest.empty() && rest.front() == ',') rest.remove_prefix(1);
  const auto max_ms = is_range ? take_number<double>(rest) : min_ms;
  if (!is_time(min_ms) || !is_time(max_ms)) log.fail("the timer is not a number of milliseconds");
  if (LogIteration* const last = log.last())
    last->timers[std::string(name)] = {
        is_range ? *min_ms * megatron_millisecond : 0, *max_ms * megatron_millisecond, {}};
  return true;
}

// Reads a line of Megatron-LM before 2023, with the timers of one rank: "time (ms) |
// forward-compute: 53.79 | backward-compute: 138.84 | optimizer: 49.42". DeepSpeed's timers have
// such a line, too, but names without dashes.
bool take_timer_line(std::string_view line, LogBuilder& log) {
  std::string_view rest = after(line, "time (ms) |");
  if (rest.data() == nullptr || !contains(rest, "forward-compute:")) return false;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('|'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t colon = part.find(':');
    const auto ms = number_after(part, ":");
    if (colon == std::string_view::npos || !ms) continue;
    if (LogIteration* const last = log.last())
      last->timers[std::string(trimmed(part.substr(0, colon)))] = {
          *ms * megatron_millisecond, *ms * megatron_millisecond, {}};
  }
  return true;
}

}  // namespace

bool take_megatron_line(std::string_view line, LogBuilder& log) {
  if (const Block block = block_start(line); block != Block::none) {
    log.block = block;
    log.block_timer.clear();
    return true;
  }
  if (take_megatron_iteration(line, log) || take_bridge_flops(line, log) ||
      take_timer_line(line, log))
    return true;
  if (log.block == Block::none) return false;
  if (take_block_timer(line, log)) return true;
  log.block = Block::none;
  return false;
}

}  // namespace pipewright::analysis
