#include "sim/cli/progress.hpp"

#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/interrupt.hpp"

namespace pipewright::cli {

Progress::Progress(std::string label, std::uint64_t total, bool visible)
    : label_(std::move(label)), total_(total), visible_(visible && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::look() {
  throw_if_interrupted();
  const Clock::time_point now = Clock::now();
  if (!visible_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  constexpr std::size_t width = 30;
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  const auto filled = static_cast<std::size_t>(share * width);
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  fmt::print(stderr, "\r\x1b[K{} [{:#<{}}{:.<{}}] {:3.0f} %  {} of {} passes  {:.0f} s left",
             label_, "", filled, "", width - filled, 100 * share, done_, total_,
             elapsed * (1 - share) / share);
}

}  // namespace pipewright::cli
