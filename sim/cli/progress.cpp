#include "sim/cli/progress.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/interrupt.hpp"

namespace pipewright::cli {

ProgressBar::ProgressBar(std::string label, bool visible)
    : label_(std::move(label)), visible_(visible && isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

bool ProgressBar::is_due() {
  const Clock::time_point now = Clock::now();
  if (!visible_ || now < next_) return false;
  next_ = now + std::chrono::milliseconds(100);
  return true;
}

void ProgressBar::draw(double share, const std::string& details) {
  drawn_ = true;
  constexpr std::size_t width = 30;
  const double done = std::clamp(share, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(done * width);
  fmt::print(stderr, "\r\x1b[K{} [{:#<{}}{:.<{}}] {:3.0f} %  {}", label_, "", filled, "",
             width - filled, 100 * done, details);
}

double ProgressBar::seconds() const {
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

PassProgress::PassProgress(std::string label, std::uint64_t total, bool visible)
    : bar_(std::move(label), visible), total_(total) {}

void PassProgress::look() {
  throw_if_interrupted();
  if (!bar_.is_due()) return;
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  bar_.draw(share, fmt::format("{} of {} passes  {:.0f} s left", done_, total_,
                               bar_.seconds() * (1 - share) / share));
}

}  // namespace pipewright::cli
