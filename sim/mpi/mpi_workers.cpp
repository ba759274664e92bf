#include "sim/mpi/mpi_workers.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/process/channel.hpp"

namespace pipewright::mpi {
namespace {

using nlohmann::json;

constexpr double longest_nap = 1e-3;       // seconds that an answer may wait for
constexpr double longest_end_nap = 10e-3;  // likewise while ranks end
constexpr double silence_interval = 0.5;   // seconds between two searches for silent ranks
constexpr double alive_interval = 10;      // seconds between `alive` where no Heartbeat can run

void send_to_all(Messages& messages, Message::Kind kind) {
  for (int rank = 1; rank < rank_count(); ++rank) messages.send({rank, kind, {}});
}

// Tells all other ranks to end. Returns whether all have confirmed it.
bool end_ranks(Messages& messages) {
  constexpr double max_seconds = 5;  // killing the command takes a rank almost no time
  send_to_all(messages, Message::Kind::end);
  int left = rank_count() - 1;
  const double end = steady_now() + max_seconds;
  for (Nap nap(longest_end_nap); left > 0 && steady_now() < end; sleep_for(nap.next()))
    for (const Message& message : messages.collect())
      if (message.kind == Message::Kind::ended) --left;
  return left == 0;
}

// Returns whether Open MPI's mpirun runs with --enable-recovery: it then tolerates processes that
// end, and always exits with status 0 itself. MPI_Abort ends only this process for certain, and may
// hang while other processes exist.
bool is_recovery_enabled() {
  const char* recovery = std::getenv("OMPI_MCA_orte_enable_recovery");
  return recovery != nullptr && std::string_view(recovery) == "1";
}

// Returns whether recovery may be enabled. Processes of Open MPI 5 cannot find out, so that it
// counts as enabled.
bool may_recovery_be_enabled() {
#ifdef OMPI_MAJOR_VERSION
  if (OMPI_MAJOR_VERSION >= 5) return true;
#endif
  return is_recovery_enabled();
}

}  // namespace

MpiWorkers::MpiWorkers(Messages& messages, const std::vector<std::string>& command,
                       double silence_s)
    : messages_(messages), silence_s_(silence_s) {
  ranks_.resize(static_cast<std::size_t>(rank_count() - 1));
  const std::string words = json(command).dump(-1, ' ', false, json::error_handler_t::replace);
  for (int rank = 1; rank < rank_count(); ++rank)
    messages_.send({rank, Message::Kind::start, words});
}

bool MpiWorkers::is_alive(std::size_t worker) const {
  const State state = ranks_.at(worker).state;
  return state == State::starting || state == State::serving;
}

void MpiWorkers::send(std::size_t worker, const std::string& line) {
  if (is_alive(worker)) messages_.send({static_cast<int>(worker) + 1, Message::Kind::line, line});
}

bool MpiWorkers::restart(std::size_t worker) {
  Rank& rank = ranks_.at(worker);
  if (rank.state == State::silent) return false;
  messages_.send({static_cast<int>(worker) + 1, Message::Kind::restart, {}});
  rank.state = State::starting;
  ++rank.pending_starts;
  return true;
}

std::vector<search::Workers::Event> MpiWorkers::wait(double seconds) {
  const double end = steady_now() + seconds;
  std::vector<Event> events;
  for (Nap nap(longest_nap);;) {
    for (Message& message : messages_.collect()) receive(std::move(message), events);
    find_silent(events);
    send_alive();
    const double left = end - steady_now();
    if (!events.empty() || left <= 0) return events;
    sleep_for(std::min(nap.next(), left));
  }
}

void MpiWorkers::receive(Message message, std::vector<Event>& events) {
  const std::size_t worker = static_cast<std::size_t>(message.rank) - 1;
  Rank& rank = ranks_.at(worker);
  rank.heard_at = clock_.now();
  const auto lost = [&](std::string why) {
    rank.state = State::commandless;
    events.push_back({worker, Event::Kind::lost, std::move(why)});
  };
  if (message.kind == Message::Kind::started) {
    rank.host = json::parse(message.text);
    --rank.pending_starts;
  }
  if (rank.state == State::silent) return lost(fmt::format("{} answers again", name_of(worker)));
  if (rank.state == State::starting && rank.pending_starts == 0) rank.state = State::serving;
  if (rank.state != State::serving) return;
  if (message.kind == Message::Kind::answer)
    events.push_back({worker, Event::Kind::answer, std::move(message.text)});
  if (message.kind == Message::Kind::lost)
    lost(fmt::format(
        "{}: {}", name_of(worker),
        process::error_of(message.text).value_or("its command ended without an error message")));
}

void MpiWorkers::find_silent(std::vector<Event>& events) {
  const double now = clock_.now();
  if (now - checked_silence_at_ < silence_interval) return;
  checked_silence_at_ = now;
  for (std::size_t worker = 0; worker < ranks_.size(); ++worker) {
    Rank& rank = ranks_[worker];
    if (rank.state == State::silent || now - rank.heard_at <= silence_s_) continue;
    rank.state = State::silent;
    events.push_back({worker, Event::Kind::lost,
                      fmt::format("{} is dead or hangs: it has sent nothing for {:g} s",
                                  name_of(worker), silence_s_)});
  }
}

void MpiWorkers::send_alive() {
  const double now = clock_.now();
  if (now - last_alive_ < alive_interval) return;
  last_alive_ = now;
  messages_.send_alive();
}

std::string MpiWorkers::name_of(std::size_t worker) const {
  const std::string& host = ranks_[worker].host;
  return host.empty() ? fmt::format("rank {}", worker + 1)
                      : fmt::format("rank {} on {}", worker + 1, host);
}

int finish(Messages& messages, int status) {
  const bool recovery = is_recovery_enabled();
  if (status != 0 && recovery)
    fmt::print(
        stderr,
        "pipewright-mpi: the exit status is {}, although mpirun --enable-recovery reports 0\n",
        status);
  const bool have_ended = [&] {
    const Heartbeat heartbeat(messages);
    return end_ranks(messages);
  }();
  if (have_ended) {
    send_to_all(messages, Message::Kind::finalize);
    MPI_Finalize();
    return status;
  }
  fmt::print(
      stderr,
      "pipewright-mpi: a rank is dead or hangs; all results are written, and MPI is aborted\n");
  std::fflush(nullptr);
  if (may_recovery_be_enabled()) send_to_all(messages, Message::Kind::quit);
  constexpr double pause = 0.5;  // ranks end, and mpirun passes on the output
  for (const double end = steady_now() + pause; steady_now() < end; sleep_for(longest_end_nap))
    messages.collect();
  MPI_Abort(MPI_COMM_WORLD, status);
  return status;
}

}  // namespace pipewright::mpi
