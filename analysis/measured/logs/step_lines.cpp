#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"

// Lines of frameworks that print one line per iteration, and reports of PyTorch's allocator.
namespace pipewright::analysis {
namespace {

constexpr double step_tera = 1e12;
constexpr double step_mebibyte = 1024.0 * 1024;
constexpr double step_millisecond = 1e-3;

using Keys = std::array<std::string_view, 2>;  // The first with a value counts; may be empty.

// Keys of a line that one framework prints for each iteration, and a text that each such line has.
struct StepLine {
  std::string_view mark;
  Keys number;
  std::string_view seconds;
  Keys milliseconds;
  std::string_view tokens_per_gpu;
  std::string_view tflops;
  std::string_view mean_seconds;  // Mean over the run so far.
};
constexpr std::array step_lines{
    // NeMo, as lines, as a progress bar, and by DLLogger: "Training epoch 0, iteration 1/249 | .. |
    // global_step: 1 | .. | train_step_timing in s: 2.505", "global_step=99.00, ..
    // train_step_timing
    // in s=3.130", 'DLLL {"step": 26, "data": {.., "train_step_timing in s": 2.74}}'.
    StepLine{.mark = "train_step_timing in s",
             .number = {"global_step", "step"},
             .seconds = "train_step_timing in s",
             .tflops = "TFLOPS_per_GPU"},
    // nanotron (src/nanotron/trainer.py): "iteration: 10 / 100 | consumed_tokens: 2.1M |
    // elapsed_time_per_iteration_ms: 1.25K | tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K
    // |
    // .. | model_tflops_per_gpu: 38.3".
    StepLine{.mark = "time_per_iteration_ms",
             .number = {"iteration"},
             .milliseconds = {"elapsed_time_per_iteration_ms", "time_per_iteration_ms"},
             .tokens_per_gpu = "tokens_per_sec_per_gpu",
             .tflops = "model_tflops_per_gpu"},
    // MaxText (src/maxtext/common/metric_logger.py): "completed step: 5, seconds: 4.200,
    // TFLOP/s/device: 300.000, Tokens/s/device: 8000.000, total_weights: 65536, loss: 9.1".
    StepLine{.mark = "completed step:",
             .number = {"completed step"},
             .seconds = "seconds",
             .tokens_per_gpu = "Tokens/s/device",
             .tflops = "TFLOP/s/device"},
    // InternLM and InternEvo (internlm/train/pipeline.py): "tflops=190.1 step=5 loss=9.1 tgs
    // (tokens/gpu/second)=4100.2 tgs/last_tgs_1=4100.3 .. fwd_bwd_time=3.9".
    StepLine{.mark = "tgs (tokens/gpu/second)",
             .number = {"step"},
             .tokens_per_gpu = "tgs (tokens/gpu/second)",
             .tflops = "tflops"},
    // ms-swift (swift/megatron/callbacks/print.py): "{'loss': 1.2, .., 'iteration': '10/100',
    // 'elapsed_time': '1m 36s', .., 'train_speed(s/it)': 9.6}".
    StepLine{.mark = "train_speed(s/it)",
             .number = {"iteration", "global_step/max_steps"},
             .mean_seconds = "train_speed(s/it)"}};

std::optional<double> value_of_key(std::string_view line, std::string_view key) {
  return key.empty() ? std::nullopt : value_of(line, key);
}

std::optional<double> value_of_keys(std::string_view line, const Keys& keys) {
  const auto value = value_of_key(line, keys[0]);
  return value ? value : value_of_key(line, keys[1]);
}

std::uint64_t whole_number(double number) {
  constexpr double largest = 1e15;  // Keeps the conversion exact.
  return static_cast<std::uint64_t>(std::min(number, largest));
}

// Returns the rank in "[rank3]:", which torchrun puts before a line, or in "[Rank 3]", or 0 without
// one.
std::uint32_t line_rank(std::string_view line, std::string_view word) {
  std::string_view rest = after(line, word);
  return take_number<std::uint32_t>(rest).value_or(0);
}

bool take_line_of(const StepLine& keys, std::string_view line, LogBuilder& log) {
  if (!contains(line, keys.mark)) return false;
  auto seconds = value_of_key(line, keys.seconds);
  if (const auto ms = value_of_keys(line, keys.milliseconds)) seconds = *ms * step_millisecond;
  const auto tokens = value_of_key(line, keys.tokens_per_gpu);
  const auto mean = value_of_key(line, keys.mean_seconds);
  if (!seconds && !tokens && !mean) return false;
  const auto number = value_of_keys(line, keys.number);
  const std::uint64_t step = number ? whole_number(*number) : log.next_number();
  if (log.preceded_last(step)) return true;  // Another rank reports late.
  LogIteration& iteration = log.iteration(step);
  iteration.elapsed_s = seconds;
  iteration.tokens_per_gpu_s = tokens;
  iteration.mean_elapsed_s = mean;
  iteration.consumed_samples = value_of(line, "consumed_samples");
  if (const auto tflops = value_of_key(line, keys.tflops))
    iteration.flops_per_gpu = *tflops * step_tera;
  return true;
}

// Reads the memory at the end of some lines of nanotron, whose units are powers of 1000.
void take_nanotron_memory(std::string_view line, LogBuilder& log) {
  const auto allocated = value_of(line, "cuda_memory_allocated");
  const auto reserved = value_of(line, "cuda_max_memory_reserved");
  if (!allocated && !reserved) return;
  LogMemory& memory = log.memory(0);
  memory.allocated = allocated;
  memory.peak_reserved = reserved;
}

}  // namespace

bool take_step_line(std::string_view line, LogBuilder& log) {
  const bool is_taken = std::ranges::any_of(
      step_lines, [&](const StepLine& keys) { return take_line_of(keys, line, log); });
  if (is_taken) take_nanotron_memory(line, log);
  return is_taken;
}

// Reads a line of torchtitan: "[rank0]: .. step: 10  loss: 8.1  memory: 31.22GiB(39.42%)  tps:
// 6,547  tflops: 342.1 mfu: 34.59%". Tokens per second are those of one device, which lines of 2024
// call "wps"; memory is reserved by the allocator.
bool take_torchtitan_line(std::string_view line, LogBuilder& log) {
  const auto tokens = value_of_any(line, {"tps", "wps"});
  const auto number = value_of(line, "step");
  if (!tokens || !number || !contains(line, "memory:")) return false;
  const std::uint32_t rank = line_rank(line, "[rank");
  if (const auto reserved = number_after(line, "memory:"))
    log.memory(rank).peak_reserved = *reserved * 1024 * step_mebibyte;
  // Skips a step that another rank has already printed.
  const std::uint64_t step = whole_number(*number);
  if (log.preceded_last(step)) return true;
  if (rank > 0 && log.last() != nullptr && step <= log.last()->number) return true;
  LogIteration& iteration = log.iteration(step);
  iteration.tokens_per_gpu_s = tokens;
  if (const auto tflops = value_of(line, "tflops")) iteration.flops_per_gpu = *tflops * step_tera;
  return true;
}

// Reads a line of Megatron-LM: "[Rank 0] (after 1 iterations) memory (MB) | allocated: 26222.7 |
// max allocated: 63359.8 | reserved: 66802.0 | max reserved: 66802.0". MB are MiB.
bool take_memory_line(std::string_view line, LogBuilder& log) {
  const std::string_view rest = after(line, " memory (MB) |");
  const auto allocated = number_after(rest, " allocated:");
  if (!allocated) return false;
  LogMemory& memory = log.memory(line_rank(line, "[Rank"));
  memory.allocated = *allocated * step_mebibyte;
  if (const auto peak = number_after(rest, "max allocated:"))
    memory.peak_allocated = *peak * step_mebibyte;
  if (const auto peak = number_after(rest, "max reserved:"))
    memory.peak_reserved = *peak * step_mebibyte;
  return true;
}

}  // namespace pipewright::analysis
