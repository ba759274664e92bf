#include "sim/search/worker_pool.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/search/messages.hpp"

namespace pipewright::search {
namespace {

using Event = Workers::Event;

constexpr std::uint32_t most_failures = 3;  // to get as far as being ready
constexpr std::size_t most_losses = 500;    // of each worker, with no answer from anybody between

bool is_answer(const std::string& line) {
  try {
    read_answer(line);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

WorkerPool::WorkerPool(Workers& workers, std::string handshake)
    : workers_(workers),
      handshake_(std::move(handshake)),
      places_(workers.count(), Place::gone),
      failures_(workers.count()),
      gone_(workers.count()) {
  for (std::size_t worker = 0; worker < places_.size(); ++worker)
    if (workers_.is_alive(worker))
      begin_handshake(worker);
    else
      replace(worker);
}

void WorkerPool::begin_handshake(std::size_t worker) {
  if (places_[worker] == Place::gone) --gone_;
  places_[worker] = Place::in_handshake;
  workers_.send(worker, handshake_);
}

void WorkerPool::replace(std::size_t worker) {
  if (places_[worker] == Place::idle) std::erase(idle_, worker);
  if (places_[worker] != Place::gone) ++gone_;
  places_[worker] = Place::gone;
  if (++failures_[worker] <= most_failures && workers_.restart(worker)) begin_handshake(worker);
}

bool WorkerPool::take_idle(std::size_t& worker) {
  if (idle_.empty()) return false;
  worker = idle_.back();
  idle_.pop_back();
  places_[worker] = Place::busy;
  return true;
}

void WorkerPool::release(std::size_t worker) {
  places_[worker] = Place::idle;
  idle_.push_back(worker);
}

void WorkerPool::dismiss(std::size_t worker) {
  last_loss_ = "it gave no answer that makes sense";
  replace(worker);
}

// An answer may still be on its way from before the worker was thought lost.
void WorkerPool::finish_handshake(std::size_t worker, const std::string& line) {
  HandshakeReply said;
  try {
    said = read_handshake_reply(line);
  } catch (const std::runtime_error&) {
    if (!is_answer(line)) dismiss(worker);
    return;
  }
  if (!said.error.empty()) throw config::Error(said.error);
  failures_[worker] = 0;
  places_[worker] = Place::idle;
  idle_.push_back(worker);
}

std::vector<Event> WorkerPool::wait(double seconds) {
  check_anybody_left();
  std::vector<Event> news;
  for (Event& event : workers_.wait(seconds)) {
    const Place place = places_[event.worker];
    if (event.kind == Event::Kind::lost) {
      last_loss_ = event.text;
      ++losses_;
      replace(event.worker);
      if (place == Place::busy) news.push_back(std::move(event));
    } else if (place == Place::in_handshake) {
      finish_handshake(event.worker, event.text);
    } else if (place == Place::busy) {
      losses_ = 0;
      news.push_back(std::move(event));
    }
  }
  return news;
}

void WorkerPool::check_anybody_left() const {
  if (gone_ == places_.size())
    throw std::runtime_error(fmt::format("no worker is left; the last was lost: {}", last_loss_));
  if (losses_ > most_losses * places_.size())
    throw std::runtime_error(fmt::format(
        "workers are lost over and over, {} times in a row; the last: {}", losses_, last_loss_));
}

std::vector<ClusterFacts> ask_facts(Workers& workers, const std::string& sweep) {
  const std::string handshake = to_line(Handshake{sweep, std::nullopt});
  constexpr std::size_t worker = 0;
  constexpr int attempts = 3;
  std::string why = "it does not start";
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (!workers.is_alive(worker) && !workers.restart(worker)) break;
    workers.send(worker, handshake);
    while (workers.is_alive(worker))
      for (const Workers::Event& event : workers.wait(1)) {
        if (event.worker != worker) continue;
        why = event.text;
        if (event.kind == Workers::Event::Kind::lost) continue;
        const HandshakeReply said = read_handshake_reply(event.text);
        if (!said.error.empty()) throw config::Error(said.error);
        if (said.facts) return *said.facts;
      }
  }
  throw std::runtime_error(fmt::format("no worker answers: {}", why));
}

}  // namespace pipewright::search
