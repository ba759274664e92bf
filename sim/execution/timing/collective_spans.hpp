#pragma once

#include <algorithm>
#include <vector>

namespace pipewright::execution {

// Periods in which collectives run beside a device's passes and slow them down, in seconds since
// the start of the run.
class CollectiveSpans {
 public:
  // Adds a period that starts no earlier than previous ones.
  void add(double start, double end) {
    if (end <= start) return;
    end_ = std::max(end_, end);
    if (!spans_.empty() && start <= spans_.back().end)
      spans_.back().end = std::max(spans_.back().end, end);
    else
      spans_.push_back({start, end});
  }
  double end() const { return end_; }  // latest end of all periods
  bool has_before(double time) const { return at_ < spans_.size() && spans_[at_].start < time; }

  // Returns how many seconds longer `work` seconds of compute from `now` on take, if compute takes
  // 1 + `excess` times as long beside collectives. Calls must be in order of time, after all
  // periods that begin before the end of the work were added.
  double lost(double now, double work, double excess) {
    double sum = 0;
    for (; at_ < spans_.size(); ++at_) {
      const Span& span = spans_[at_];
      if (span.end <= now) continue;
      if (span.start >= now + work) break;
      const double before = std::max(0.0, span.start - now);
      now += before;
      work -= before;
      const double overlap = std::min(work * (1 + excess), span.end - now);
      sum += overlap * excess / (1 + excess);
      now += overlap;
      work -= overlap / (1 + excess);
      if (now < span.end) break;
    }
    if (at_ == spans_.size()) {
      spans_.clear();
      at_ = 0;
    }
    return sum;
  }

 private:
  struct Span {
    double start = 0;
    double end = 0;
  };
  std::vector<Span> spans_;
  std::size_t at_ = 0;  // first period that is not over
  double end_ = 0;
};

}  // namespace pipewright::execution
