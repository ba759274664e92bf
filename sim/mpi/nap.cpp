#include "sim/mpi/nap.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace pipewright::mpi {

double Nap::next() {
  constexpr double growth = 1.5;
  return std::exchange(length_, std::min(length_ * growth, longest_));
}

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

ListeningClock::ListeningClock() : last_(steady_now()) {}

double ListeningClock::now() {
  constexpr double at_most = 0.5;  // counts of a gap between two looks
  const double time = steady_now();
  listened_ += std::min(time - std::exchange(last_, time), at_most);
  return listened_;
}

}  // namespace pipewright::mpi
