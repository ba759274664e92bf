#pragma once

#include <algorithm>
#include <vector>

namespace pipewright::execution {

// When collectives run beside the passes of a device, where these go slower: stretches of time, in
// seconds from the start of the run.
class CollectiveSpans {
 public:
  // One that starts no earlier than those before it.
  void add(double start, double end) {
    if (end <= start) return;
    end_ = std::max(end_, end);
    if (!spans_.empty() && start <= spans_.back().end)
      spans_.back().end = std::max(spans_.back().end, end);
    else
      spans_.push_back({start, end});
  }
  double end() const { return end_; }  // of all that were added so far
  bool any_before(double time) const { return at_ < spans_.size() && spans_[at_].start < time; }

  // By how much longer `work` seconds of compute take from `now` on, 1 + `excess` times as long
  // beside collectives. Asked in order of time, once all spans that begin before its end are known.
  double lost(double now, double work, double excess) {
    double sum = 0;
    for (; at_ < spans_.size(); ++at_) {
      const Span& span = spans_[at_];
      if (span.end <= now) continue;
      if (span.start >= now + work) break;
      const double before = std::max(0.0, span.start - now);
      now += before;
      work -= before;
      const double beside = std::min(work * (1 + excess), span.end - now);
      sum += beside * excess / (1 + excess);
      now += beside;
      work -= beside / (1 + excess);
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
  std::size_t at_ = 0;  // the first that is not over
  double end_ = 0;
};

}  // namespace pipewright::execution
