#include <algorithm>
#include <cmath>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"

// Megatron-LM's lines (megatron/training/training.py, megatron/core/timers.py), as those that grew
// from it print them too: Megatron-DeepSpeed joins words, Primus adds a mean behind a slash.
namespace pipewright::analysis {
namespace {

constexpr double millisecond = 1e-3;
constexpr double tera = 1e12;
using Block = LogBuilder::Block;

bool is_time(std::optional<double> ms) { return ms && std::isfinite(*ms) && *ms >= 0; }

Block begins(std::string_view line) {
  if (contains(line, "(min, max) time across ranks (ms):")) return Block::of_range;
  if (contains(line, "max time across ranks (ms):")) return Block::of_most;
  if (contains(line, "times across ranks (ms):")) return Block::of_ranks;
  return Block::none;
}

// The first of several words that a number follows.
std::optional<double> number_after_any(std::string_view line,
                                       std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (const auto value = number_after(line, word)) return value;
  return std::nullopt;
}

bool take_iteration(std::string_view line, LogBuilder& log) {
  for (const std::string_view words :
       {"elapsed time per iteration (ms):", "elapsed_time_per_iteration_ms="}) {
    std::string_view rest = after(line, words);
    if (rest.data() == nullptr) continue;
    const auto ms = take_number<double>(rest);
    if (!is_time(ms)) log.fail("the time of the iteration is no number of milliseconds", line);
    std::string_view head = after(line, "iteration");
    while (!head.empty() && (head.front() == ' ' || head.front() == '=')) head.remove_prefix(1);
    const auto number = take_number<std::uint64_t>(head);
    if (!number) log.fail("the iteration has no number", line);
    LogIteration& iteration = log.iteration(*number);
    iteration.elapsed_s = *ms * millisecond;
    iteration.samples_per_s =
        number_after_any(line, {"samples_per_second=", "samples per second:"});
    iteration.tokens_per_gpu_s = number_after_any(
        line, {"tokens per GPU (tokens/s/GPU):", "tokens/s/GPU inst/harmonic mean:",
               "tokens_per_gpu_per_second_tgs=", "tokens per gpu per second (tgs):"});
    iteration.flops_per_gpu = number_after_any(line, {"per GPU (TFLOP/s/GPU):"});
    if (iteration.flops_per_gpu) *iteration.flops_per_gpu *= tera;
    log.block = Block::none;
    return true;
  }
  return false;
}

void take_rank(std::string_view name, std::string_view rest, std::string_view line, LogBuilder& log,
               bool& taken) {
  if (rest.empty()) {
    log.block_timer = name;
    taken = !name.empty();
    return;
  }
  std::string_view rank_text = after(name, "rank");
  const auto rank = take_number<std::uint32_t>(rank_text);
  const auto ms = take_number<double>(rest);
  if (!rank || log.block_timer.empty()) return;
  if (!is_time(ms)) log.fail("the timer has no number of milliseconds", line);
  taken = true;
  LogIteration* const last = log.last();
  if (last == nullptr) return;  // timers before the first iteration are of the start
  LogTimer& timer = last->timers[log.block_timer];
  const double s = *ms * millisecond;
  timer.least_s = timer.of_rank.empty() ? s : std::min(timer.least_s, s);
  timer.most_s = std::max(timer.most_s, s);
  timer.of_rank[*rank] = s;
}

// "forward-compute ......: (100.00, 110.00)", or ": 110.00"; or its name, and a line a rank.
bool take_block_timer(std::string_view line, LogBuilder& log) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return false;
  std::string_view name = trimmed(line.substr(0, colon));
  while (!name.empty() && name.back() == '.') name.remove_suffix(1);
  name = trimmed(name);
  std::string_view rest = trimmed(line.substr(colon + 1));
  bool taken = false;
  if (log.block == Block::of_ranks) {
    take_rank(name, rest, line, log, taken);
    return taken;
  }
  const bool range = log.block == Block::of_range && !rest.empty() && rest.front() == '(';
  if (range) rest.remove_prefix(1);
  const auto least = take_number<double>(rest);
  if (!least) return false;
  if (!rest.empty() && rest.front() == ',') rest.remove_prefix(1);
  const auto most = range ? take_number<double>(rest) : least;
  if (!is_time(least) || !is_time(most)) log.fail("the timer has no number of milliseconds", line);
  if (LogIteration* const last = log.last())
    last->timers[std::string(name)] = {range ? *least * millisecond : 0, *most * millisecond, {}};
  return true;
}

// Until 2023: "time (ms) | forward-compute: 53.79 | backward-compute: 138.84 | optimizer: 49.42"
// of one rank. DeepSpeed's timers have such a line too, and names without dashes.
bool take_line_of_timers(std::string_view line, LogBuilder& log) {
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
          *ms * millisecond, *ms * millisecond, {}};
  }
  return true;
}

}  // namespace

bool take_megatron_line(std::string_view line, LogBuilder& log) {
  if (const Block block = begins(line); block != Block::none) {
    log.block = block;
    log.block_timer.clear();
    return true;
  }
  if (take_iteration(line, log) || take_line_of_timers(line, log)) return true;
  if (log.block == Block::none) return false;
  if (take_block_timer(line, log)) return true;
  log.block = Block::none;
  return false;
}

}  // namespace pipewright::analysis
