#pragma once

#include <functional>
#include <stdexcept>

// The end of a program: exit status, uncaught exception, or interrupt.
namespace pipewright::cli {

// Ctrl-C or a termination request as an exception, so that destructors remove incomplete files.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// Makes the first SIGINT, SIGTERM or SIGHUP raise a flag. The second signal ends the process, and
// so do `grace` seconds without a look at the flag (0: no limit).
void watch_for_interrupts(unsigned grace = 0);
inline constexpr unsigned interrupt_grace = 3;  // for work that rarely looks at the flag
bool interrupted();
void throw_if_interrupted();

// The only catch of a program: runs `body` and returns its exit status. Reports an exception on
// standard error as `program: message`, and returns the status for it.
int guarded(const char* program, const std::function<int()>& body);

}  // namespace pipewright::cli
