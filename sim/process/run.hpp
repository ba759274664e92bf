#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/process/channel.hpp"

// SimGrid has one engine a process, and ends it over some faults: what is to be apart from this
// process runs in one of its own.
namespace pipewright::process {

using Body = std::function<std::string()>;  // gives a message

struct Result {
  bool failed = false;
  std::string text;  // the message of its body, or the plain words of why there is none
};

// Runs `body` in a process of its own, or says that it took longer than `seconds` (0: any time is
// well). Nothing, with the process killed, once `parent` has ended.
std::optional<Result> run_within(double seconds, const Body& body, Channel& parent);
Result run(const Body& body);

// Runs each body in a process of its own, `jobs` at a time. Calls `look` with the number of those
// that have ended, now and then, and `each` with every one as it ends; what they throw ends all.
std::vector<Result> run_all(const std::vector<Body>& bodies, std::size_t jobs,
                            const std::function<void(std::size_t)>& look,
                            const std::function<void(std::size_t, const Result&)>& each = {});

}  // namespace pipewright::process
