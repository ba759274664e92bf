#include "sim/mpi/messages.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>

namespace pipewright::mpi {
namespace {

bool is_done(MPI_Request& request) {
  int done = 0;
  // Errors are ignored: they mean that the peer has died, and its silence shows that as well.
  return MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
}

}  // namespace

int rank_count() {
  static const int ranks = [] {
    int count = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    return count;
  }();
  return ranks;
}

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

void begin(int* count, char*** words) {
  int provided = 0;
  MPI_Init_thread(count, words, MPI_THREAD_SERIALIZED, &provided);
}

bool has_threads() {
  int provided = 0;
  MPI_Query_thread(&provided);
  return provided >= MPI_THREAD_SERIALIZED;
}

void Messages::send(Message message) {
  const std::lock_guard lock(mutex_);
  post(std::move(message));
}

void Messages::send_alive() {
  const std::lock_guard lock(mutex_);
  outgoing_.remove_if([](Transfer& transfer) { return is_done(transfer.request); });
  std::set<int> deaf;
  for (const Transfer& transfer : outgoing_)
    if (transfer.message.kind == Message::Kind::alive) deaf.insert(transfer.message.rank);
  for (int rank = 0; rank < rank_count(); ++rank)
    if (rank != rank_ && !deaf.contains(rank)) post({rank, Message::Kind::alive, {}});
}

void Messages::post(Message message) {
  if (message.text.size() > INT_MAX)
    throw std::logic_error("a message of 2 GiB or more is too long for MPI");
  Transfer& transfer = outgoing_.emplace_back(Transfer{std::move(message)});
  const std::string& text = transfer.message.text;
  const int sent =
      MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, transfer.message.rank,
                static_cast<int>(transfer.message.kind), MPI_COMM_WORLD, &transfer.request);
  if (sent != MPI_SUCCESS || is_done(transfer.request)) outgoing_.pop_back();
}

void Messages::start_receiving() {
  int has_arrived = 0;
  MPI_Message message{};
  MPI_Status status;
  const auto probe = [&] {
    const int probed =
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &has_arrived, &message, &status);
    return probed == MPI_SUCCESS && has_arrived != 0;
  };
  while (probe()) {
    int size = 0;
    MPI_Get_count(&status, MPI_CHAR, &size);
    Transfer& transfer = incoming_.emplace_back();
    transfer.message.rank = status.MPI_SOURCE;
    transfer.message.kind = static_cast<Message::Kind>(status.MPI_TAG);
    transfer.message.text.resize(static_cast<std::size_t>(size));
    if (MPI_Imrecv(transfer.message.text.data(), size, MPI_CHAR, &message, &transfer.request) !=
        MPI_SUCCESS)
      incoming_.pop_back();
  }
}

std::vector<Message> Messages::collect() {
  const std::lock_guard lock(mutex_);
  start_receiving();
  outgoing_.remove_if([](Transfer& transfer) { return is_done(transfer.request); });
  std::vector<Message> arrived;
  std::set<int> incomplete;  // ranks with an earlier message that is still in transit
  for (auto it = incoming_.begin(); it != incoming_.end();) {
    if (incomplete.contains(it->message.rank) || !is_done(it->request)) {
      incomplete.insert(it->message.rank);
      ++it;
      continue;
    }
    arrived.push_back(std::move(it->message));
    it = incoming_.erase(it);
  }
  return arrived;
}

Heartbeat::Heartbeat(Messages& messages) : messages_(messages) {
  if (!has_threads()) return;
  thread_ = std::thread([this] {
    constexpr std::chrono::seconds alive_interval(1);
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, alive_interval, [this] { return ends_; })) messages_.send_alive();
  });
}

Heartbeat::~Heartbeat() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

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
  constexpr double max_gap = 0.5;  // part of the time between two readings that counts
  const double time = steady_now();
  listened_ += std::min(time - std::exchange(last_, time), max_gap);
  return listened_;
}

}  // namespace pipewright::mpi
