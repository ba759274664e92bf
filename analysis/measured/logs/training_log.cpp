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

// A line is of the first kind that takes it.
constexpr std::array<TakeLine, 5> kinds{take_memory_line, take_megatron_line, take_torchtitan_line,
                                        take_nemo_line, take_deepspeed_line};

// Words of lines that say something of an iteration or of memory.
constexpr std::array<std::string_view, 8> marks{
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
  const auto said = [&](std::string_view mark) { return contains(line, mark); };
  // Two words of torchtitan's, each of which is common.
  if (said("  tps: ")) return said("step: ");
  return std::ranges::any_of(marks, said);
}

TrainingLog read_training_log(const std::filesystem::path& file, const ReadProgress& progress) {
  TextSource source(file, progress);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);  // what the source throws goes through
  LogBuilder builder(source);
  for (std::string line; std::getline(stream, line); source.mark()) {
    ++builder.line_number;
    const std::string plain = without_colors(line);
    // A progress bar writes one line over and over.
    for (std::size_t from = 0; from <= plain.size();) {
      const std::size_t end = std::min(plain.find('\r', from), plain.size());
      const std::string_view part(plain.data() + from, end - from);
      for (const TakeLine take : kinds)
        if (take(part, builder)) break;
      from = end + 1;
    }
  }
  end_deepspeed_step(builder);
  TrainingLog log = builder.take();
  const auto says_much = [](const LoggedTraining& run) {
    return !run.iterations.empty() || !run.memory.empty();
  };
  if (!std::ranges::any_of(log.runs, says_much))
    throw trace::TraceError(fmt::format(
        "{}: no line of it says how long an iteration took, as Megatron-LM's 'elapsed time per "
        "iteration (ms): ..' does at each --log-interval",
        source.name()));
  return log;
}

}  // namespace pipewright::analysis
