#include "sim/search/worker_pool.hpp"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/search/messages.hpp"

namespace pipewright::search {
namespace {

using Event = Workers::Event;

constexpr std::uint32_t max_failures = 3;           // restarts of a worker before it is ready
constexpr std::size_t max_losses_per_worker = 500;  // without an answer of any worker

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
      states_(workers.count(), WorkerState::gone),
      failures_(workers.count()),
      gone_(workers.count()) {
  for (std::size_t worker = 0; worker < states_.size(); ++worker)
    if (workers_.is_alive(worker))
      begin_handshake(worker);
    else
      replace(worker);
}

void WorkerPool::begin_handshake(std::size_t worker) {
  if (states_[worker] == WorkerState::gone) --gone_;
  states_[worker] = WorkerState::in_handshake;
  workers_.send(worker, handshake_);
}

void WorkerPool::replace(std::size_t worker) {
  if (states_[worker] == WorkerState::idle) std::erase(idle_, worker);
  if (states_[worker] != WorkerState::gone) ++gone_;
  states_[worker] = WorkerState::gone;
  if (++failures_[worker] <= max_failures && workers_.restart(worker)) begin_handshake(worker);
}

std::optional<std::size_t> WorkerPool::claim_idle() {
  if (idle_.empty()) return std::nullopt;
  const std::size_t worker = idle_.back();
  idle_.pop_back();
  states_[worker] = WorkerState::busy;
  return worker;
}

void WorkerPool::release(std::size_t worker) {
  states_[worker] = WorkerState::idle;
  idle_.push_back(worker);
}

void WorkerPool::dismiss(std::size_t worker) {
  last_loss_ = "its answer did not fit its task";
  replace(worker);
}

// Handles the reply of a worker to its handshake. An answer to a task of the worker's lost
// predecessor may arrive before and is ignored.
void WorkerPool::finish_handshake(std::size_t worker, const std::string& line) {
  HandshakeReply reply;
  try {
    reply = read_handshake_reply(line);
  } catch (const std::runtime_error&) {
    if (!is_answer(line)) dismiss(worker);
    return;
  }
  if (!reply.error.empty()) throw config::Error(reply.error);
  failures_[worker] = 0;
  states_[worker] = WorkerState::idle;
  idle_.push_back(worker);
}

std::vector<Event> WorkerPool::wait(double seconds) {
  check_worker_left();
  std::vector<Event> events;
  for (Event& event : workers_.wait(seconds)) {
    const WorkerState state = states_[event.worker];
    if (event.kind == Event::Kind::lost) {
      last_loss_ = event.text;
      ++losses_;
      replace(event.worker);
      if (state == WorkerState::busy) events.push_back(std::move(event));
    } else if (state == WorkerState::in_handshake) {
      finish_handshake(event.worker, event.text);
    } else if (state == WorkerState::busy) {
      losses_ = 0;
      events.push_back(std::move(event));
    }
  }
  return events;
}

void WorkerPool::check_worker_left() const {
  if (gone_ == states_.size())
    throw std::runtime_error(fmt::format("no worker is left; the last was lost: {}", last_loss_));
  if (losses_ > max_losses_per_worker * states_.size())
    throw std::runtime_error(fmt::format(
        "workers were lost {} times without an answer; the last loss: {}", losses_, last_loss_));
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
        const HandshakeReply reply = read_handshake_reply(event.text);
        if (!reply.error.empty()) throw config::Error(reply.error);
        if (reply.facts) return *reply.facts;
      }
  }
  throw std::runtime_error(fmt::format("no worker answers: {}", why));
}

}  // namespace pipewright::search
