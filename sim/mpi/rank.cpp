#include "sim/mpi/rank.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>
#include <utility>

#include "sim/mpi/nap.hpp"

namespace pipewright::mpi {
namespace {

constexpr int coordinator = 0;
constexpr double longest_idle_nap = 10e-3;  // seconds: what a task may wait for
constexpr double longest_busy_nap = 50e-3;  // nothing but the end is to come
constexpr double transfer_nap = 1e-3;       // while MPI has a long line to move on with
constexpr double between_words = 1;
// A coordinator that enumerates a large space or writes its results says nothing meanwhile; that
// it is dead and nobody ends its ranks, is rare.
constexpr double patience = 600;

std::string host() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int size = 0;
  MPI_Get_processor_name(name.data(), &size);
  return {name.data(), static_cast<std::size_t>(size)};
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

class RankService {
 public:
  RankService(Letters& letters, const MakeWorker& make_worker)
      : letters_(letters), make_worker_(make_worker) {}

  bool run() {
    while (!leaves_) {
      for (const Letter& letter : letters_.collect()) receive(letter);
      if (listen()) nap_.reset();
      say_alive();
      if (clock_.now() - heard_ > patience)
        throw std::runtime_error("rank 0 is silent, and this rank ends");
    }
    return finalizes_;
  }

 private:
  void say(Letter::Kind kind, std::string text = {}) {
    letters_.send({coordinator, kind, std::move(text)});
  }

  void receive(const Letter& letter) {
    heard_ = clock_.now();
    nap_.reset();
    switch (letter.kind) {
      case Letter::Kind::start:
        command_ = words_of(letter.text);
        return start();
      case Letter::Kind::restart:
        return start();
      case Letter::Kind::line:
        return pass_on(letter.text);
      case Letter::Kind::end:
        worker_.reset();
        return say(Letter::Kind::ended);
      case Letter::Kind::finalize:
      case Letter::Kind::quit:
        leaves_ = true;
        finalizes_ = letter.kind == Letter::Kind::finalize;
        return;
      default:
        return;
    }
  }

  void start() {
    worker_.reset();
    is_asked_ = false;
    say(Letter::Kind::started, host());
    try {
      worker_ = make_worker_(command_);
    } catch (const std::exception& error) {
      say(Letter::Kind::lost, error.what());
    }
  }

  void pass_on(const std::string& line) {
    if (!worker_ || !worker_->is_alive(0)) return;  // it was said that it is lost
    worker_->send(0, line);
    is_asked_ = true;
  }

  // Waits a little for the worker or the coordinator; whether the worker said something.
  bool listen() {
    const double length = std::min(nap_.next(), letters_.busy() ? transfer_nap : longest_busy_nap);
    const bool can_wait = worker_ && is_asked_ && worker_->is_alive(0);
    if (!can_wait) sleep_for(std::min(length, longest_idle_nap));
    if (!worker_) return false;
    bool said = false;
    for (search::Workers::Event& event : worker_->wait(can_wait ? length : 0)) {
      const bool answered = event.kind == search::Workers::Event::Kind::answer;
      say(answered ? Letter::Kind::answer : Letter::Kind::lost, std::move(event.text));
      is_asked_ = false;
      said = true;
    }
    return said;
  }

  void say_alive() {
    const double now = steady_now();
    if (now - said_ < between_words) return;
    said_ = now;
    say(Letter::Kind::alive);
  }

  Letters& letters_;
  const MakeWorker& make_worker_;
  std::vector<std::string> command_;
  std::unique_ptr<search::Workers> worker_;
  bool is_asked_ = false;
  bool leaves_ = false;
  bool finalizes_ = false;
  ListeningClock clock_;
  double heard_ = 0;
  double said_ = 0;
  Nap nap_{longest_busy_nap};
};

}  // namespace

int rank_count() {
  int count = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

bool serve_rank(Letters& letters, const MakeWorker& make_worker) {
  return RankService(letters, make_worker).run();
}

}  // namespace pipewright::mpi
