#include "analysis/measured/logs/training_log.hpp"

#include <algorithm>
#include <array>
#include <istream>
#include <string>

#include <fmt/format.h>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

using TakeLine = bool (*)(std::string_view, LogBuilder&);

// Parsers of log lines. They are tried in this order until one accepts the line.
constexpr std::array<TakeLine, 5> line_readers{take_memory_line, take_megatron_line,
                                               take_torchtitan_line, take_nemo_line,
                                               take_deepspeed_line};

// Texts of which each line with figures of iterations or memory contains at least one.
constexpr std::array<std::string_view, 8> line_marks{
    "elapsed time per iteration (ms)",
    "elapsed_time_per_iteration_ms",
    "across ranks (ms):",
    "time (ms) |",
    " memory (MB) |",
    "train_step_timing in s",
    "iter time (s):",
    "SamplesPerSec=",
};

}  // namespace

bool is_log_line(std::string_view text) {
  const std::string line = without_colors(text);
  const auto has_mark = [&](std::string_view mark) { return contains(line, mark); };
  // Lines of torchtitan are recognized by two texts together, since each alone is common.
  if (has_mark("  tps: ")) return has_mark("step: ");
  return std::ranges::any_of(line_marks, has_mark);
}

TrainingLog read_training_log(const std::filesystem::path& file, const ReadProgress& progress) {
  TextSource source(file, progress);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);  // Lets exceptions of the source pass through the stream.
  LogBuilder builder(source);
  for (std::string line; std::getline(stream, line); source.mark()) {
    ++builder.line_number;
    const std::string plain = without_colors(line);
    // A progress bar rewrites its line with '\r', so one line of the file holds many states.
    for (std::size_t part_start = 0; part_start <= plain.size();) {
      const std::size_t end = std::min(plain.find('\r', part_start), plain.size());
      const std::string_view part(plain.data() + part_start, end - part_start);
      for (const TakeLine take : line_readers)
        if (take(part, builder)) break;
      part_start = end + 1;
    }
  }
  end_deepspeed_step(builder);
  TrainingLog log = builder.take();
  const auto has_figures = [](const LoggedTraining& run) {
    return !run.iterations.empty() || !run.memory.empty();
  };
  if (!std::ranges::any_of(log.runs, has_figures))
    throw trace::TraceError(fmt::format(
        "{}: no line gives the time of an iteration, as Megatron-LM's 'elapsed time per "
        "iteration (ms): ..' does at each --log-interval",
        source.name()));
  return log;
}

}  // namespace pipewright::analysis
