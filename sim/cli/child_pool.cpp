#include "sim/cli/child_pool.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <poll.h>

#include "sim/cli/interrupt.hpp"

namespace pipewright::cli {
namespace {

struct Running {
  std::size_t number = 0;  // of its body
  search::Child child;
};

}  // namespace

std::vector<Said> run_in_children(const std::vector<Body>& bodies, std::size_t jobs,
                                  const std::function<void(std::size_t)>& done) {
  constexpr int look_again = 100;  // milliseconds
  std::vector<Said> said(bodies.size());
  std::vector<Running> running;
  std::size_t started = 0;
  std::size_t ended = 0;
  while (ended < bodies.size()) {
    throw_if_interrupted();
    for (; running.size() < jobs && started < bodies.size(); ++started)
      running.push_back({started, search::Child(bodies[started])});
    std::vector<pollfd> waiting;
    for (const Running& one : running) waiting.push_back({one.child.from(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), look_again) < 0 && errno != EINTR)
      throw std::runtime_error(fmt::format("cannot wait for a process: {}", std::strerror(errno)));
    for (std::size_t i = waiting.size(); i-- > 0;) {
      if (waiting[i].revents == 0 || running[i].child.listen()) continue;
      said[running[i].number] = running[i].child.end();
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      ++ended;
    }
    if (done) done(ended);
  }
  return said;
}

}  // namespace pipewright::cli
