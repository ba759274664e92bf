#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pipewright::search {

// Time that the parts of a command share. A part may take an equal share of the time that is left
// when it begins, so that time which a part does not need goes to the parts after it.
class TimeShares {
 public:
  using Stop = std::function<bool()>;

  // `parts` are the names of the parts in their order. They have no limit without `seconds`.
  // `interrupted` ends every part; it may be empty.
  TimeShares(std::optional<double> seconds, std::vector<std::string> parts, Stop interrupted);

  void begin_next();  // does nothing after an interrupt
  // Returns whether the part must end, because its time is spent or the command is interrupted. A
  // part asks only while it has work left: a part that must end is listed by cut_short().
  bool is_over();

  bool is_interrupted() const { return interrupted_ && interrupted_(); }
  const std::vector<std::string>& cut_short() const { return cut_short_; }
  // Returns the names of the last part that has begun, and of all parts after it.
  std::span<const std::string> from_current() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<std::string> parts_;
  Stop interrupted_;
  std::optional<Clock::time_point> end_;       // of all parts
  std::optional<Clock::time_point> part_end_;  // of the current part
  std::size_t begun_ = 0;                      // parts that have begun
  std::vector<std::string> cut_short_;
};

}  // namespace pipewright::search
