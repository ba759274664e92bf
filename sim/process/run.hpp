#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/process/channel.hpp"

// Runs functions in child processes. SimGrid allows one engine per process and ends the process on
// some faults, so each simulation that must not affect this process gets a process of its own.
namespace pipewright::process {

using Body = std::function<std::string()>;  // returns a message

struct Result {
  bool failed = false;
  std::string text;      // message of the body, or the reason why there is none
  bool is_lost = false;  // the process ended before the body did, for example because it was killed
};

// Runs `body` in a child process. A body that takes longer than `seconds` is killed and fails; 0
// means no limit. Returns nothing, with the child killed, once `parent` has ended.
std::optional<Result> run_within(double seconds, const Body& body, Channel& parent);
Result run(const Body& body);

// Runs each body in a child process, `jobs` at a time. Calls `show_progress` several times a second
// with the number of bodies that have ended, and `on_end` with the result of each body when it
// ends. An exception of either kills the children.
std::vector<Result> run_all(const std::vector<Body>& bodies, std::size_t jobs,
                            const std::function<void(std::size_t)>& show_progress,
                            const std::function<void(std::size_t, const Result&)>& on_end = {});

}  // namespace pipewright::process
