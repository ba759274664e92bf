#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "analysis/measured/logs/log_builder.hpp"
#include "analysis/measured/logs/log_text.hpp"

// Output of Hugging Face's Trainer: the progress bar of tqdm, and the means at the end of the
// training, which its trainer_state.json has too. Progress bars of other programs are read alike.
namespace pipewright::analysis {
namespace {

// Returns true for the text before the percentage of a bar that counts iterations: nothing but the
// prefixes of launchers ("0:", "[default0]:"), or a word for training.
bool counts_iterations(std::string_view text) {
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const bool is_tag = text.front() == '[';
    const std::size_t end = is_tag ? text.find(']') : text.find(':');
    if (end == std::string_view::npos) return false;
    const std::string_view word = text.substr(0, end);
    constexpr std::array words{"Epoch", "Train", "train", "Step", "Iteration"};
    const auto is_word = [&](std::string_view start) { return word.starts_with(start); };
    if (!is_tag && word.find_first_not_of("0123456789") != std::string_view::npos)
      return std::ranges::any_of(words, is_word);
    text.remove_prefix(end + 1);
    if (text.starts_with(':')) text.remove_prefix(1);
  }
  return true;
}

// Reads "1:02:03", "02:03" or "2 days, 1:02:03" at the beginning of a text.
std::optional<double> take_duration(std::string_view& text) {
  double seconds = 0;
  while (true) {
    const auto part = take_number<unsigned>(text);
    if (!part) return std::nullopt;
    seconds += *part;
    if (text.starts_with(" day")) {
      seconds *= 24;
      text.remove_prefix(std::min(text.find(',') + 1, text.size()));
      continue;
    }
    if (!text.starts_with(':')) return seconds;
    text.remove_prefix(1);
    seconds *= 60;
  }
}

// Reads " 4.21s/it" or " 2.50it/s", as seconds per iteration.
std::optional<double> take_pace(std::string_view text) {
  const auto number = take_number<double>(text);
  if (!number || !std::isfinite(*number) || *number <= 0) return std::nullopt;
  if (text.starts_with("s/it")) return *number;
  if (text.starts_with("it/s")) return 1 / *number;
  return std::nullopt;
}

// Reads a state of a bar: " 10%|#    | 10/100 [00:42<06:18,  4.21s/it]".
bool take_bar(std::string_view line, LogBuilder& log) {
  const std::size_t percent = line.find("%|");
  if (percent == std::string_view::npos) return false;
  const std::size_t digits = line.substr(0, percent).find_last_not_of("0123456789");
  const std::size_t number = digits == std::string_view::npos ? 0 : digits + 1;
  if (!counts_iterations(line.substr(0, number))) return false;
  std::string_view rest = after(line.substr(percent + 2), "| ");
  const auto count = take_number<std::uint64_t>(rest);
  if (!count || !rest.starts_with('/')) return false;
  rest.remove_prefix(1);
  const auto total = take_number<std::uint64_t>(rest);
  if (!total || !rest.starts_with(" [")) return false;
  rest.remove_prefix(2);
  const auto elapsed = take_duration(rest);
  const auto pace = take_pace(after(rest, ","));
  if (elapsed && pace) log.bar(*total, {*count, *elapsed, *pace});
  return true;
}

// Reads "{'train_runtime': 421.0, 'train_samples_per_second': 3.04, 'train_steps_per_second': 0.24,
// ..}", or one of these pairs in a line of trainer_state.json.
bool take_means(std::string_view line, LogBuilder& log) {
  const auto steps = value_of(line, "train_steps_per_second");
  const auto samples = value_of(line, "train_samples_per_second");
  const auto tokens = value_of(line, "train_tokens_per_second");  // Of a GPU.
  if (steps && *steps > 0) log.means.iteration_s = 1 / *steps;
  if (samples) log.means.samples_per_s = samples;
  if (tokens) log.means.tokens_per_gpu_s = tokens;
  return steps || samples || tokens;
}

}  // namespace

bool take_trainer_line(std::string_view line, LogBuilder& log) {
  return take_bar(line, log) || take_means(line, log);
}

}  // namespace pipewright::analysis
