#include "analysis/import/megatron_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <istream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "analysis/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

constexpr double millisecond = 1e-3;

std::string_view after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + word.size());
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  return text;
}

// The number that `text` begins with, which moves on behind it.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  text = trimmed(text);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool is_time(std::optional<double> ms) { return ms && std::isfinite(*ms) && *ms >= 0; }

enum class Block { none, of_range, of_most, of_ranks };

class LogReader {
 public:
  explicit LogReader(const TextSource& source) : source_(source) {}

  void take(std::string_view line) {
    if (const Block block = begins(line); block != Block::none) {
      block_ = block;
      timer_.clear();
      return;
    }
    if (take_iteration(line)) return;
    if (block_ != Block::none && !take_timer(line)) block_ = Block::none;
  }

  MegatronLog log;

 private:
  [[noreturn]] void fail(std::string_view what, std::string_view line) const {
    constexpr std::size_t most = 120;
    throw trace::TraceError(fmt::format("{}: {}: '{}'", source_.place(), what,
                                        printable(std::string(trimmed(line).substr(0, most)))));
  }

  static Block begins(std::string_view line) {
    if (!after(line, "(min, max) time across ranks (ms):").data()) {
      if (after(line, "max time across ranks (ms):").data()) return Block::of_most;
      if (after(line, "times across ranks (ms):").data()) return Block::of_ranks;
      return Block::none;
    }
    return Block::of_range;
  }

  bool take_iteration(std::string_view line) {
    // Megatron-DeepSpeed joins the words.
    for (const char* const words :
         {"elapsed time per iteration (ms):", "elapsed_time_per_iteration_ms="}) {
      std::string_view rest = after(line, words);
      if (rest.data() == nullptr) continue;
      const auto ms = take_number<double>(rest);
      if (!is_time(ms)) fail("the time of the iteration is no number of milliseconds", line);
      std::string_view head = after(line, "iteration");
      while (!head.empty() && (head.front() == ' ' || head.front() == '=')) head.remove_prefix(1);
      const auto number = take_number<std::uint64_t>(head);
      if (!number) fail("the iteration has no number", line);
      log.iterations.push_back({*number, *ms * millisecond, {}});
      block_ = Block::none;
      return true;
    }
    return false;
  }

  // "forward-compute ......: (100.00, 110.00)", or ": 110.00"; or its name, and a line a rank.
  bool take_timer(std::string_view line) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) return false;
    std::string_view name = trimmed(line.substr(0, colon));
    while (!name.empty() && name.back() == '.') name.remove_suffix(1);
    name = trimmed(name);
    std::string_view rest = trimmed(line.substr(colon + 1));
    if (block_ == Block::of_ranks) {
      if (rest.empty()) {
        timer_ = name;
        return !name.empty();
      }
      std::string_view rank_text = after(name, "rank");
      const auto rank = take_number<std::uint32_t>(rank_text);
      const auto ms = take_number<double>(rest);
      if (!rank || timer_.empty()) return false;
      if (!is_time(ms)) fail("the timer has no number of milliseconds", line);
      if (MegatronTimer* const timer = this->timer(timer_)) {
        const double s = *ms * millisecond;
        timer->least_s = timer->of_rank.empty() ? s : std::min(timer->least_s, s);
        timer->most_s = std::max(timer->most_s, s);
        timer->of_rank[*rank] = s;
      }
      return true;
    }
    const bool range = block_ == Block::of_range && !rest.empty() && rest.front() == '(';
    if (range) rest.remove_prefix(1);
    const auto least = take_number<double>(rest);
    if (!least) return false;
    if (!rest.empty() && rest.front() == ',') rest.remove_prefix(1);
    const auto most = range ? take_number<double>(rest) : least;
    if (!is_time(least) || !is_time(most)) fail("the timer has no number of milliseconds", line);
    if (MegatronTimer* const timer = this->timer(std::string(name))) {
      timer->least_s = range ? *least * millisecond : 0;
      timer->most_s = *most * millisecond;
    }
    return true;
  }

  // Timers follow their iteration; those before the first one are of the start.
  MegatronTimer* timer(const std::string& name) {
    return log.iterations.empty() ? nullptr : &log.iterations.back().timers[name];
  }

  const TextSource& source_;
  Block block_ = Block::none;
  std::string timer_;  // whose ranks follow
};

}  // namespace

MegatronLog read_megatron_log(const std::filesystem::path& file, const ReadProgress& progress) {
  TextSource source(file, progress);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);  // what the source throws goes through
  LogReader reader(source);
  for (std::string line; std::getline(stream, line); source.mark()) reader.take(line);
  if (reader.log.iterations.empty())
    throw trace::TraceError(fmt::format(
        "{}: no line of it says 'elapsed time per iteration (ms): ..'; Megatron-LM logs that each "
        "--log-interval",
        source.name()));
  return std::move(reader.log);
}

}  // namespace pipewright::analysis
