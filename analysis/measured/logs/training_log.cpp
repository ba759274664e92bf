#include "analysis/measured/logs/training_log.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <istream>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

using TakeLine = bool (*)(std::string_view, LogBuilder&);

// Parsers of log lines. They are tried in this order until one accepts the line.
constexpr std::array<TakeLine, 6> line_readers{take_memory_line,     take_megatron_line,
                                               take_torchtitan_line, take_step_line,
                                               take_deepspeed_line,  take_trainer_line};

// A text that each line with figures of iterations or memory has, and the programs that print such
// lines. Lines whose text is common have a second text, too.
struct LineMark {
  std::string_view text;
  std::string_view programs;
  std::string_view second = {};
};
constexpr std::array line_marks{
    LineMark{"elapsed time per iteration (ms)",
             "Megatron-LM, Megatron-DeepSpeed, Megatron-Bridge, GPT-NeoX, Primus"},
    LineMark{"elapsed_time_per_iteration_ms", "Megatron-DeepSpeed, nanotron"},
    LineMark{"elapsed time per iteration (s)", "Megatron-DeepSpeed, as for BLOOM"},
    LineMark{"across ranks (ms):", "timers of Megatron-LM"},
    LineMark{"time (ms) |", "timers of Megatron-LM and DeepSpeed"},
    LineMark{" memory (MB) |", "memory of Megatron-LM"},
    LineMark{"train_step_timing in s", "NeMo, also by DLLogger"},
    LineMark{"iter time (s):", "the pipeline engine of DeepSpeed"},
    LineMark{"SamplesPerSec=", "DeepSpeed"},
    LineMark{"skipped=", "DeepSpeed, with time stamps", "step="},
    LineMark{" tps: ", "torchtitan", "step: "},
    LineMark{" wps: ", "torchtitan in 2024", "step: "},
    LineMark{"time_per_iteration_ms", "nanotron"},
    LineMark{"completed step:", "MaxText", "seconds:"},
    LineMark{"tgs (tokens/gpu/second)", "InternLM, InternEvo"},
    LineMark{"train_speed(s/it)", "ms-swift"},
    LineMark{"s/it]", "progress bars of tqdm, as of Hugging Face's Trainer", "%|"},
    LineMark{"s/it,", "progress bars of tqdm with more figures", "%|"},
    LineMark{"it/s]", "progress bars of tqdm", "%|"},
    LineMark{"it/s,", "progress bars of tqdm with more figures", "%|"},
    LineMark{"train_steps_per_second", "the end of Hugging Face's Trainer, and trainer_state.json"},
};

// Width of a terminal at which lines may have been wrapped: the columns of the longest line.
class TerminalWidth {
 public:
  void add(std::string_view line) { longest_ = std::max(longest_, columns_of(line)); }
  // Returns the width; nothing if lines are longer than a terminal, or too short for a log.
  std::optional<std::size_t> width() const {
    constexpr std::size_t narrowest = 40;
    return longest_ >= narrowest && longest_ <= widest_terminal ? std::optional(longest_)
                                                                : std::nullopt;
  }

 private:
  std::size_t longest_ = 0;
};

// Returns true if a line goes on in the next line: if it fills the width, or if it ends with a
// blank because the next word did not fit.
bool is_wrapped(std::string_view line, std::string_view next, std::size_t width) {
  const std::size_t columns = columns_of(line);
  if (columns == width) return true;
  return line.ends_with(' ') && columns + columns_of(next.substr(0, next.find(' '))) > width;
}

void take_parts(std::string_view line, std::uint64_t number, LogBuilder& builder) {
  builder.line_number = number;
  // A progress bar rewrites its line with '\r', so one line of the file holds many states.
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find('\r', start), line.size());
    const std::string_view part = line.substr(start, end - start);
    builder.line = part;
    for (const TakeLine take : line_readers)
      if (take(part, builder)) break;
    start = end + 1;
  }
}

std::string read_line(const std::string& line) {
  std::string plain = without_colors(line);
  while (plain.ends_with('\r')) plain.pop_back();
  return plain;
}

// Reads a log. Joins lines that were wrapped at `width` columns, if it is given. Adds the widths of
// the lines to `terminal`.
TrainingLog read_lines(const std::filesystem::path& file, const ReadProgress& progress,
                       std::optional<std::size_t> width, TerminalWidth& terminal) {
  TextSource source(file, progress);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);  // Lets exceptions of the source pass through the stream.
  LogBuilder builder(source.name());
  std::string joined;  // Lines read, but not yet parsed.
  std::string last;    // The last of them.
  std::uint64_t first = 1;
  std::uint64_t number = 0;
  for (std::string line; std::getline(stream, line); source.mark()) {
    ++number;
    std::string plain = read_line(line);
    terminal.add(plain);
    if (number > 1 && width && is_wrapped(last, plain, *width)) {
      joined += plain;
    } else {
      if (number > 1) take_parts(joined, first, builder);
      joined = plain;
      first = number;
    }
    last = std::move(plain);
  }
  if (number > 0) take_parts(joined, first, builder);
  return builder.take();
}

std::size_t count_figures(const TrainingLog& log) {
  std::size_t count = 0;
  for (const LoggedTraining& run : log.runs) {
    count += run.memory.size();
    for (const LogIteration& iteration : run.iterations) {
      count += iteration.timers.size();
      for (const auto& figure : {iteration.elapsed_s, iteration.samples_per_s,
                                 iteration.tokens_per_gpu_s, iteration.flops_per_gpu})
        count += figure ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

bool is_log_line(std::string_view text) {
  const std::string line = without_colors(text);
  return std::ranges::any_of(line_marks, [&](const LineMark& mark) {
    return contains(line, mark.text) && contains(line, mark.second);
  });
}

bool is_trainer_output(std::string_view beginning) {
  const std::string_view keys = trimmed(beginning);
  if (!keys.starts_with('{')) return false;
  // A dictionary of Python has quotes that JSON lacks.
  return trimmed(keys.substr(1)).starts_with('\'') || contains(keys, "\"best_metric\"") ||
         contains(keys, "\"best_model_checkpoint\"") || contains(keys, "\"log_history\"");
}

std::string log_marks_text() {
  std::string text;
  for (const LineMark& mark : line_marks)
    text += fmt::format(
        "  '{}'{}: {}\n", trimmed(mark.text),
        mark.second.empty() ? std::string() : fmt::format(" with '{}'", trimmed(mark.second)),
        mark.programs);
  return text;
}

TrainingLog read_training_log(const std::filesystem::path& file, const ReadProgress& progress) {
  TerminalWidth terminal;
  TrainingLog log;
  std::exception_ptr fault;
  try {
    log = read_lines(file, progress, {}, terminal);
  } catch (const trace::TraceError&) {
    fault = std::current_exception();
  }
  if (const auto width = terminal.width()) {
    try {
      TrainingLog joined = read_lines(file, progress, width, terminal);
      if (fault || count_figures(joined) >= count_figures(log)) {
        log = std::move(joined);
        fault = nullptr;
      }
    } catch (const trace::TraceError&) {
      // The log was not wrapped, or has the same fault as before.
    }
  }
  if (fault) std::rethrow_exception(fault);
  if (count_figures(log) == 0)
    throw trace::TraceError(
        fmt::format("{}: no line gives the time of an iteration or a rate; lines with these texts "
                    "are read:\n{}",
                    printable(file.string()), log_marks_text()));
  return log;
}

}  // namespace pipewright::analysis
