#include "sim/mpi/mpi_workers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/mpi/rank.hpp"

namespace pipewright::mpi {
namespace {

constexpr double longest_nap = 1e-3;   // seconds: what an answer may wait for
constexpr double between_looks = 0.5;  // at who is silent
constexpr double between_words = 10;   // to ranks, which are patient

}  // namespace

MpiWorkers::MpiWorkers(Letters& letters, const std::vector<std::string>& command, double silence_s)
    : letters_(letters), silence_s_(silence_s) {
  ranks_.resize(static_cast<std::size_t>(rank_count() - 1));
  std::string words;
  for (const std::string& word : command) words.append(word).push_back('\0');
  for (int rank = 1; rank < rank_count(); ++rank) letters_.send({rank, Letter::Kind::start, words});
}

bool MpiWorkers::is_alive(std::size_t worker) const {
  const State state = ranks_.at(worker).state;
  return state == State::starting || state == State::serving;
}

void MpiWorkers::send(std::size_t worker, const std::string& line) {
  if (is_alive(worker)) letters_.send({static_cast<int>(worker) + 1, Letter::Kind::line, line});
}

bool MpiWorkers::restart(std::size_t worker) {
  Rank& rank = ranks_.at(worker);
  if (rank.state == State::silent) return false;
  letters_.send({static_cast<int>(worker) + 1, Letter::Kind::restart, {}});
  rank.state = State::starting;
  ++rank.starts;
  return true;
}

std::vector<search::Workers::Event> MpiWorkers::wait(double seconds) {
  const double end = steady_now() + seconds;
  std::vector<Event> events;
  for (Nap nap(longest_nap);;) {
    for (Letter& letter : letters_.collect()) receive(std::move(letter), events);
    find_silent(events);
    say_alive();
    const double left = end - steady_now();
    if (!events.empty() || left <= 0) return events;
    sleep_for(std::min(nap.next(), left));
  }
}

void MpiWorkers::receive(Letter letter, std::vector<Event>& events) {
  const std::size_t worker = static_cast<std::size_t>(letter.rank) - 1;
  Rank& rank = ranks_.at(worker);
  rank.heard = clock_.now();
  const auto lost = [&](std::string why) {
    rank.state = State::commandless;
    events.push_back({worker, Event::Kind::lost, std::move(why)});
  };
  if (letter.kind == Letter::Kind::started) {
    rank.host = letter.text;
    --rank.starts;
  }
  if (rank.state == State::silent) return lost(fmt::format("{} is heard again", called(worker)));
  if (rank.state == State::starting && rank.starts == 0) rank.state = State::serving;
  if (rank.state != State::serving) return;
  if (letter.kind == Letter::Kind::answer)
    events.push_back({worker, Event::Kind::answer, std::move(letter.text)});
  if (letter.kind == Letter::Kind::lost) lost(fmt::format("{}: {}", called(worker), letter.text));
}

void MpiWorkers::find_silent(std::vector<Event>& events) {
  const double now = clock_.now();
  if (now - looked_ < between_looks) return;
  looked_ = now;
  for (std::size_t worker = 0; worker < ranks_.size(); ++worker) {
    Rank& rank = ranks_[worker];
    if (rank.state == State::silent || now - rank.heard <= silence_s_) continue;
    rank.state = State::silent;
    events.push_back({worker, Event::Kind::lost,
                      fmt::format("{} is dead or hangs: nothing came from it for {:g} s",
                                  called(worker), silence_s_)});
  }
}

void MpiWorkers::say_alive() {
  const double now = clock_.now();
  if (now - said_ < between_words) return;
  said_ = now;
  for (std::size_t worker = 0; worker < ranks_.size(); ++worker)
    if (ranks_[worker].state != State::silent)
      letters_.send({static_cast<int>(worker) + 1, Letter::Kind::alive, {}});
}

std::string MpiWorkers::called(std::size_t worker) const {
  const std::string& host = ranks_[worker].host;
  return host.empty() ? fmt::format("rank {}", worker + 1)
                      : fmt::format("rank {} on {}", worker + 1, host);
}

}  // namespace pipewright::mpi
