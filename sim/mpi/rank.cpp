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
constexpr double longest_idle_nap = 10e-3;  // seconds that a task may wait for
constexpr double longest_busy_nap = 50e-3;  // while the worker has a task
constexpr double transfer_nap = 1e-3;       // while a message is in transit
constexpr double rank_alive_interval = 1;   // seconds between two `alive`

std::string host_name() {
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
      send_alive();
      if (clock_.now() - heard_at_ > patience_)
        throw std::runtime_error("rank 0 is silent; this rank ends");
    }
    return finalizes_;
  }

 private:
  void report(Message::Kind kind, std::string text = {}) {
    messages_.send({coordinator, kind, std::move(text)});
  }

  void receive(const Message& message) {
    heard_at_ = clock_.now();
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
        return report(Message::Kind::ended);
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
    has_task_ = false;
    report(Message::Kind::started, json(host_name()).dump());
    try {
      worker_ = make_worker_(command_);
    } catch (const std::exception& error) {
      report(Message::Kind::lost, process::error_message(error.what()));
    }
  }

  void pass_on(const std::string& line) {
    if (!worker_ || !worker_->is_alive(0)) return;  // the loss was reported
    worker_->send(0, line);
    has_task_ = true;
  }

  // Waits briefly for a message of the worker or the coordinator. Returns whether the worker sent
  // one.
  bool listen() {
    const double length =
        std::min(nap_.next(), messages_.is_busy() ? transfer_nap : longest_busy_nap);
    const bool can_wait = worker_ && has_task_ && worker_->is_alive(0);
    if (!can_wait) sleep_for(std::min(length, longest_idle_nap));
    if (!worker_) return false;
    bool has_sent = false;
    for (search::Workers::Event& event : worker_->wait(can_wait ? length : 0)) {
      if (event.kind == search::Workers::Event::Kind::answer)
        report(Message::Kind::answer, std::move(event.text));
      else
        report(Message::Kind::lost, process::error_message(event.text));
      has_task_ = false;
      has_sent = true;
    }
    return has_sent;
  }

  void send_alive() {
    const double now = steady_now();
    if (now - last_alive_ < rank_alive_interval) return;
    last_alive_ = now;
    report(Message::Kind::alive);
  }

  Messages& messages_;
  const MakeWorker& make_worker_;
  double patience_;
  std::vector<std::string> command_;
  std::unique_ptr<search::Workers> worker_;
  bool has_task_ = false;
  bool leaves_ = false;
  bool finalizes_ = false;
  ListeningClock clock_;
  double heard_at_ = 0;
  double last_alive_ = 0;
  Nap nap_{longest_busy_nap};
};

}  // namespace

bool serve_rank(Messages& messages, const MakeWorker& make_worker, double patience_s) {
  return RankService(messages, make_worker, patience_s).run();
}

}  // namespace pipewright::mpi
