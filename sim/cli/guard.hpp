#pragma once

#include <functional>
#include <stdexcept>

// Handles the end of a program: exit status, uncaught exceptions and interrupts.
namespace pipewright::cli {

// Exception for Ctrl-C or a termination request. It unwinds the stack, so that destructors remove
// incomplete files.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// Makes the first SIGINT, SIGTERM or SIGHUP set a flag. The process ends at the second signal, or
// if throw_if_interrupted() is not called within `grace` seconds of the first (0: no limit).
void watch_for_interrupts(unsigned grace = 0);
inline constexpr unsigned interrupt_grace = 3;  // for work that rarely looks at the flag
bool interrupted();
void throw_if_interrupted();

// Runs `body` and returns its exit status; the only place that catches a program's exceptions.
// Reports an exception on standard error as `program: message`, and returns the status for it.
int guarded(const char* program, const std::function<int()>& body);

}  // namespace pipewright::cli
