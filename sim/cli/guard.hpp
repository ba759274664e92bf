#pragma once

#include <functional>
#include <stdexcept>

// How a program ends: by its status, by what is thrown, or interrupted.
namespace pipewright::cli {

// Ctrl-C or a termination request, as an exception, so that what is half-written is taken away.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// From here on the first SIGINT, SIGTERM or SIGHUP only raises a flag; the second ends the process,
// and so do `grace` seconds in which nobody looks at the flag (0: however long).
void watch_for_interrupts(unsigned grace = 0);
inline constexpr unsigned interrupt_grace = 3;  // where work goes on for long without looking
bool interrupted();
void throw_if_interrupted();

// The one catch of a program: runs `body` and returns its exit status, or says on standard error
// what it threw, as `program: message`, and returns the status for that.
int guarded(const char* program, const std::function<int()>& body);

}  // namespace pipewright::cli
