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
  // An error is a rank's death, which its silence tells as well.
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

void Messages::say_alive() {
  const std::lock_guard lock(mutex_);
  leaving_.remove_if([](Moving& moving) { return is_done(moving.request); });
  std::set<int> deaf;
  for (const Moving& moving : leaving_)
    if (moving.message.kind == Message::Kind::alive) deaf.insert(moving.message.rank);
  for (int rank = 0; rank < rank_count(); ++rank)
    if (rank != own_ && !deaf.contains(rank)) post({rank, Message::Kind::alive, {}});
}

void Messages::post(Message message) {
  if (message.text.size() > INT_MAX) throw std::logic_error("a line of 2 GiB is too long for MPI");
  Moving& moving = leaving_.emplace_back(Moving{std::move(message)});
  const std::string& text = moving.message.text;
  const int sent =
      MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, moving.message.rank,
                static_cast<int>(moving.message.kind), MPI_COMM_WORLD, &moving.request);
  if (sent != MPI_SUCCESS || is_done(moving.request)) leaving_.pop_back();
}

void Messages::notice() {
  int is_there = 0;
  MPI_Message message{};
  MPI_Status status;
  const auto probe = [&] {
    const int probed =
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &message, &status);
    return probed == MPI_SUCCESS && is_there != 0;
  };
  while (probe()) {
    int size = 0;
    MPI_Get_count(&status, MPI_CHAR, &size);
    Moving& moving = arriving_.emplace_back();
    moving.message.rank = status.MPI_SOURCE;
    moving.message.kind = static_cast<Message::Kind>(status.MPI_TAG);
    moving.message.text.resize(static_cast<std::size_t>(size));
    if (MPI_Imrecv(moving.message.text.data(), size, MPI_CHAR, &message, &moving.request) !=
        MPI_SUCCESS)
      arriving_.pop_back();
  }
}

std::vector<Message> Messages::collect() {
  const std::lock_guard lock(mutex_);
  notice();
  leaving_.remove_if([](Moving& moving) { return is_done(moving.request); });
  std::vector<Message> come;
  std::set<int> in_between;  // ranks of which an earlier message is still under way
  for (auto at = arriving_.begin(); at != arriving_.end();) {
    if (in_between.contains(at->message.rank) || !is_done(at->request)) {
      in_between.insert(at->message.rank);
      ++at;
      continue;
    }
    come.push_back(std::move(at->message));
    at = arriving_.erase(at);
  }
  return come;
}

Heartbeat::Heartbeat(Messages& messages) : messages_(messages) {
  if (!has_threads()) return;
  thread_ = std::thread([this] {
    constexpr std::chrono::seconds between_words(1);
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, between_words, [this] { return ends_; })) messages_.say_alive();
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
  constexpr double at_most = 0.5;  // counts of a gap between two looks
  const double time = steady_now();
  listened_ += std::min(time - std::exchange(last_, time), at_most);
  return listened_;
}

}  // namespace pipewright::mpi
