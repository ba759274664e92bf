#include "sim/cli/progress.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "analysis/trace/reader.hpp"
#include "sim/cli/guard.hpp"

namespace pipewright::cli {

ProgressBar::ProgressBar(std::string label, bool visible, InLogs in_logs)
    : label_(std::move(label)),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      visible_(visible && (is_terminal_ || in_logs == InLogs::yes)),
      next_(is_terminal_ ? 0.5 : 10) {}

ProgressBar::~ProgressBar() {
  if (drawn_ && is_terminal_) fmt::print(stderr, "\r\x1b[K");
}

bool ProgressBar::is_due() {
  if (!visible_) return false;
  const double now = seconds();
  if (now < next_) return false;
  constexpr double between_bars = 0.1;
  constexpr double longest_silence = 60;
  next_ = now + (is_terminal_ ? between_bars : std::min(now, longest_silence));
  return true;
}

void ProgressBar::announce(const std::string& work) {
  if (visible_ && is_terminal_) draw(0, work);
}

void ProgressBar::draw(double share, const std::string& details) {
  drawn_ = true;
  if (!is_terminal_) {
    fmt::print(stderr, "{}  {}\n", label_, details);
    return;
  }
  constexpr std::size_t width = 30;
  const double done = std::clamp(share, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(done * width);
  fmt::print(stderr, "\r\x1b[K{} [{:#<{}}{:.<{}}] {:3.0f} %  {}", label_, "", filled, "",
             width - filled, 100 * done, details);
}

double ProgressBar::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

RowProgress::RowProgress(std::string label, Rows rows, std::uint64_t total, bool visible,
                         std::string advice)
    : bar_(std::move(label), visible, ProgressBar::InLogs::yes),
      rows_(rows),
      total_(total),
      advice_(std::move(advice)) {}

void RowProgress::check_and_draw() {
  throw_if_interrupted();
  if (!bar_.is_due()) return;
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  bar_.draw(share, fmt::format("{} of {} {}  {:.0f} s left{}", done_, total_,
                               rows_ == Rows::all ? "rows" : "passes",
                               bar_.seconds() * (1 - share) / share,
                               bar_.is_in_log() ? advice_ : std::string()));
}

void replay_with_progress(const std::string& label, const std::filesystem::path& file,
                          trace::Sink& sink) {
  RowProgress progress(label, RowProgress::Rows::all, trace::count_rows(file), true);
  trace::Tee tee({&sink, &progress});
  trace::replay(file, tee);
}

}  // namespace pipewright::cli
