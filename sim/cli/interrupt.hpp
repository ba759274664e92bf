#pragma once

#include <stdexcept>

namespace pipewright::cli {

// Ctrl-C or a termination request, as an exception, so that what is half-written is taken away.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

// From here on the first SIGINT, SIGTERM or SIGHUP only raises a flag; the second ends the process.
void watch_for_interrupts();
bool interrupted();
void throw_if_interrupted();

}  // namespace pipewright::cli
