#include "sim/search/time_shares.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace pipewright::search {

TimeShares::TimeShares(std::optional<double> seconds, std::vector<std::string> parts,
                       Stop interrupted)
    : parts_(std::move(parts)), interrupted_(std::move(interrupted)) {
  if (seconds)
    end_ = Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
}

void TimeShares::begin_next() {
  if (is_interrupted()) return;
  if (begun_ == parts_.size()) throw std::logic_error("more parts than shares of the time");
  const auto left = static_cast<Clock::rep>(parts_.size() - begun_);
  ++begun_;
  if (!end_) return;
  const Clock::time_point now = Clock::now();
  part_end_ = now + std::max(Clock::duration::zero(), *end_ - now) / left;
}

bool TimeShares::is_over() {
  if (is_interrupted()) return true;
  if (!part_end_ || Clock::now() < *part_end_) return false;
  const std::string& part = from_current().front();
  if (cut_short_.empty() || cut_short_.back() != part) cut_short_.push_back(part);
  return true;
}

std::span<const std::string> TimeShares::from_current() const {
  return std::span(parts_).subspan(std::max<std::size_t>(begun_, 1) - 1);
}

}  // namespace pipewright::search
