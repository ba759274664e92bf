#pragma once

#include <stdexcept>

namespace pipewright::trace {

// Thrown for a trace that cannot be written or read. The message begins with the name of the file.
struct TraceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace pipewright::trace
