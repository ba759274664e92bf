#include <algorithm>
#include <string>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"

// Lines of frameworks that print one line per iteration, and reports of PyTorch's allocator.
namespace pipewright::analysis {
namespace {

constexpr double step_tera = 1e12;
constexpr double step_mebibyte = 1024.0 * 1024;

// Returns the rank in "[rank3]:", which torchrun puts before a line, or in "[Rank 3]", or 0 without
// one.
std::uint32_t line_rank(std::string_view line, std::string_view word) {
  std::string_view rest = after(line, word);
  return take_number<std::uint32_t>(rest).value_or(0);
}

}  // namespace

// Reads a line of NeMo: "Training epoch 0, iteration 1/249 | .. | global_step: 1 | .. |
// train_step_timing in s: 2.505", or a progress bar with "global_step=99.00, .. train_step_timing
// in s=3.130".
bool take_nemo_line(std::string_view line, LogBuilder& log) {
  auto seconds = number_after(line, "train_step_timing in s:");
  if (!seconds) seconds = number_after(line, "train_step_timing in s=");
  if (!seconds) return false;
  auto number = number_after(line, "global_step:");
  if (!number) number = number_after(line, "global_step=");
  const std::uint64_t step =
      number ? static_cast<std::uint64_t>(std::min(*number, 1e15)) : log.next_number();
  LogIteration& iteration = log.iteration(step);
  iteration.elapsed_s = *seconds;
  for (const std::string_view word : {"TFLOPS_per_GPU:", "TFLOPS_per_GPU="})
    if (const auto tflops = number_after(line, word)) iteration.flops_per_gpu = *tflops * step_tera;
  return true;
}

// Reads a line of torchtitan: "[rank0]: .. step: 10  loss: 8.1  memory: 31.22GiB(39.42%)  tps:
// 6,547  tflops: 342.1 mfu: 34.59%". Tokens per second are those of one device; memory is reserved
// by the allocator.
bool take_torchtitan_line(std::string_view line, LogBuilder& log) {
  const auto tokens = grouped_number_after(line, " tps:");
  const auto number = number_after(line, "step:");
  if (!tokens || !number || !contains(line, "memory:")) return false;
  const std::uint32_t rank = line_rank(line, "[rank");
  if (const auto reserved = number_after(line, "memory:"))
    log.memory(rank).peak_reserved = *reserved * 1024 * step_mebibyte;
  // Skips a step that another rank has already printed.
  const auto step = static_cast<std::uint64_t>(std::min(*number, 1e15));
  if (log.preceded_last(step)) return true;
  if (rank > 0 && log.last() != nullptr && step <= log.last()->number) return true;
  LogIteration& iteration = log.iteration(step);
  iteration.tokens_per_gpu_s = tokens;
  if (const auto tflops = grouped_number_after(line, "tflops:"))
    iteration.flops_per_gpu = *tflops * step_tera;
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
