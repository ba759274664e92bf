#include "sim/execution/simgrid/dispatch_stream.hpp"

#include <utility>

#include "sim/execution/exposed_time.hpp"

namespace pipewright::execution {

DispatchStream::DispatchStream(DeviceContext& device, std::vector<Slot> slots, std::uint64_t first,
                               double excess)
    : device_(device), slots_(std::move(slots)), first_(first), slowdown_(1 + excess) {}

void DispatchStream::start() {
  if (!slots_.empty()) post();
}

void DispatchStream::wait() {
  if (!slots_.empty()) over_->acquire();
}

void DispatchStream::collective_started() {
  started_ = cluster::sg4::Engine::get_clock();
  device_.clock.collective_started();
}

// Start the next collective before the clock is told that this one has ended, so that it sees no
// gap between them.
void DispatchStream::collective_ended() {
  const Slot& slot = slots_[at_++];
  exposed_[slot.of_partner ? 1 : 0] +=
      hidden(cluster::sg4::Engine::get_clock() - started_, slot.overlap, slowdown_).waits;
  const bool is_last = at_ == slots_.size();
  if (!is_last) post();
  device_.clock.collective_ended();
  if (is_last) over_->release();
}

}  // namespace pipewright::execution
