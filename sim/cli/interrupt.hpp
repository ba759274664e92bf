#pragma once

#include <stdexcept>

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

}  // namespace pipewright::cli
