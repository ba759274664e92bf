#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/search/workers.hpp"
#include "sim/sweep/sweep.hpp"

namespace pipewright::search {

// Workers that are told the sweep before anything else, anew whenever they were lost.
class WorkerPool {
 public:
  WorkerPool(Workers& workers, std::string handshake);

  // One that has nothing to do, and now has; false if there is none.
  bool take_idle(std::size_t& worker);
  void send(std::size_t worker, const std::string& line) { workers_.send(worker, line); }
  void release(std::size_t worker);  // it has nothing to do
  // What those that had something to do said, or that they are lost. Throws config::Error for what
  // is wrong with the sweep, and std::runtime_error once nobody is left.
  std::vector<Workers::Event> wait(double seconds);
  // What it said was no answer.
  void dismiss(std::size_t worker);

 private:
  enum class Place : std::uint8_t { in_handshake, idle, busy, gone };

  void begin_handshake(std::size_t worker);
  void replace(std::size_t worker);
  void finish_handshake(std::size_t worker, const std::string& line);
  void check_anybody_left() const;

  Workers& workers_;
  std::string handshake_;
  std::vector<Place> places_;            // by worker
  std::vector<std::uint32_t> failures_;  // likewise: since it was ready, or at all
  std::vector<std::size_t> idle_;
  std::size_t gone_ = 0;
  std::size_t losses_ = 0;  // since anybody answered
  std::string last_loss_;
};

// What a sweep's clusters are: a worker knows. Throws config::Error for what is wrong with the
// sweep, and std::runtime_error if no worker can be made to answer.
std::vector<ClusterFacts> ask_facts(Workers& workers, const std::string& sweep);

}  // namespace pipewright::search
