#include "sim/mpi/rank.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

#include "sim/mpi/messages.hpp"
#include "sim/process/channel.hpp"

namespace pipewright::mpi {
namespace {

using nlohmann::json;

constexpr int coordinator = 0;
constexpr double longest_idle_nap = 10e-3;  // seconds: what a task may wait for
constexpr double longest_busy_nap = 50e-3;  // nothing but the end is to come
constexpr double transfer_nap = 1e-3;       // while MPI has a long line to move on with
constexpr double between_words = 1;

std::string host() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int size = 0;
  MPI_Get_processor_name(name.data(), &size);
  return {name.data(), static_cast<std::size_t>(size)};
}

class RankService {
 public:
  RankService(Messages& messages, const MakeWorker& make_worker, double patience)
      : messages_(messages), make_worker_(make_worker), patience_(patience) {}

  bool run() {
    while (!leaves_) {
      for (const Message& message : messages_.collect()) receive(message);
      if (listen()) nap_.reset();
      say_alive();
      if (clock_.now() - heard_ > patience_)
        throw std::runtime_error("rank 0 is silent, and this rank ends");
    }
    return finalizes_;
  }

 private:
  void say(Message::Kind kind, std::string text = {}) {
    messages_.send({coordinator, kind, std::move(text)});
  }

  void receive(const Message& message) {
    heard_ = clock_.now();
    nap_.reset();
    switch (message.kind) {
      case Message::Kind::start:
        command_ = json::parse(message.text).get<std::vector<std::string>>();
        return start();
      case Message::Kind::restart:
        return start();
      case Message::Kind::line:
        return pass_on(message.text);
      case Message::Kind::end:
        worker_.reset();
        return say(Message::Kind::ended);
      case Message::Kind::finalize:
      case Message::Kind::quit:
        leaves_ = true;
        finalizes_ = message.kind == Message::Kind::finalize;
        return;
      default:
        return;
    }
  }

  void start() {
    worker_.reset();
    is_asked_ = false;
    say(Message::Kind::started, json(host()).dump());
    try {
      worker_ = make_worker_(command_);
    } catch (const std::exception& error) {
      say(Message::Kind::lost, process::error_message(error.what()));
    }
  }

  void pass_on(const std::string& line) {
    if (!worker_ || !worker_->is_alive(0)) return;  // it was said that it is lost
    worker_->send(0, line);
    is_asked_ = true;
  }

  // Waits a little for the worker or the coordinator; whether the worker said something.
  bool listen() {
    const double length = std::min(nap_.next(), messages_.busy() ? transfer_nap : longest_busy_nap);
    const bool can_wait = worker_ && is_asked_ && worker_->is_alive(0);
    if (!can_wait) sleep_for(std::min(length, longest_idle_nap));
    if (!worker_) return false;
    bool said = false;
    for (search::Workers::Event& event : worker_->wait(can_wait ? length : 0)) {
      if (event.kind == search::Workers::Event::Kind::answer)
        say(Message::Kind::answer, std::move(event.text));
      else
        say(Message::Kind::lost, process::error_message(event.text));
      is_asked_ = false;
      said = true;
    }
    return said;
  }

  void say_alive() {
    const double now = steady_now();
    if (now - said_ < between_words) return;
    said_ = now;
    say(Message::Kind::alive);
  }

  Messages& messages_;
  const MakeWorker& make_worker_;
  double patience_;
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

bool serve_rank(Messages& messages, const MakeWorker& make_worker, double patience_s) {
  return RankService(messages, make_worker, patience_s).run();
}

}  // namespace pipewright::mpi
