#include "sim/execution/simgrid/collective_instance.hpp"

#include <utility>

namespace pipewright::execution {

void CollectiveInstance::arrive(CollectiveListener* listener) {
  if (listener != nullptr) listeners_.push_back(listener);
}

void CollectiveInstance::start(std::function<void()> after) {
  start_ = now();
  for (CollectiveListener* listener : listeners_) listener->collective_started();
  run_([this, after = std::move(after)] {
    end_ = now();
    over_ = true;
    for (CollectiveListener* listener : listeners_) listener->collective_ended();
    for (; waiting_ > 0; --waiting_) ended_->release();
    after();
  });
}

void CollectiveInstance::wait() {
  if (over_) return;
  ++waiting_;
  ended_->acquire();
}

void Stream::add(std::shared_ptr<CollectiveInstance> collective) {
  ready_.push_back(std::move(collective));
  if (!busy_) next();
}

void Stream::next() {
  busy_ = !ready_.empty();
  if (!busy_) return;
  const std::shared_ptr<CollectiveInstance> collective = std::move(ready_.front());
  ready_.pop_front();
  collective->start([this, collective] { next(); });
}

}  // namespace pipewright::execution
