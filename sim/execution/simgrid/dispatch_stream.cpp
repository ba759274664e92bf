#include "sim/execution/simgrid/dispatch_stream.hpp"

#include <utility>

#include "sim/execution/exposed_time.hpp"

namespace pipewright::execution {

DispatchStream::DispatchStream(DeviceContext& device, std::vector<Turn> turns, std::uint64_t first,
                               double excess)
    : device_(device), turns_(std::move(turns)), first_(first), slowdown_(1 + excess) {}

void DispatchStream::start() {
  if (!turns_.empty()) post();
}

void DispatchStream::wait() {
  if (!turns_.empty()) over_->acquire();
}

void DispatchStream::collective_started() {
  started_ = cluster::sg4::Engine::get_clock();
  device_.clock.collective_started();
}

// The next begins before this one has left the clock, which sees no gap between them.
void DispatchStream::collective_ended() {
  const Turn& turn = turns_[at_++];
  exposed_[turn.of_partner ? 1 : 0] +=
      hidden(cluster::sg4::Engine::get_clock() - started_, turn.beside, slowdown_).waits;
  const bool is_last = at_ == turns_.size();
  if (!is_last) post();
  device_.clock.collective_ended();
  if (is_last) over_->release();
}

}  // namespace pipewright::execution
