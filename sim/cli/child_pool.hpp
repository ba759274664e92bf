#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace pipewright::cli {

// What a process of its own said, or why it did not.
struct Said {
  bool failed = false;
  std::string text;  // what it said, or the message of what it threw
};

using Body = std::function<std::string()>;

// Runs each body in a process of its own, `jobs` at a time: SimGrid has one engine a process. Calls
// `done` with the number of those that have ended, now and then. Throws Interrupted.
std::vector<Said> run_in_children(const std::vector<Body>& bodies, std::size_t jobs,
                                  const std::function<void(std::size_t)>& done);

}  // namespace pipewright::cli
