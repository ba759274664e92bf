#include "sim/execution/meeting.hpp"

#include <utility>

namespace pipewright::execution {

void Meeting::arrive(Attendance* who) {
  if (who != nullptr) attending_.push_back(who);
}

void Meeting::start(std::function<void()> after) {
  start_ = now();
  for (Attendance* who : attending_) who->meeting_started();
  run_([this, after = std::move(after)] {
    end_ = now();
    over_ = true;
    for (Attendance* who : attending_) who->meeting_ended();
    for (; waiting_ > 0; --waiting_) ended_->release();
    after();
  });
}

void Meeting::wait() {
  if (over_) return;
  ++waiting_;
  ended_->acquire();
}

void Stream::add(std::shared_ptr<Meeting> meeting) {
  ready_.push_back(std::move(meeting));
  if (!busy_) next();
}

void Stream::next() {
  busy_ = !ready_.empty();
  if (!busy_) return;
  const std::shared_ptr<Meeting> meeting = std::move(ready_.front());
  ready_.pop_front();
  meeting->start([this, meeting] { next(); });
}

}  // namespace pipewright::execution
