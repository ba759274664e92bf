#pragma once

#include <stdexcept>

namespace pipewright::trace {

// A trace that cannot be written or read. The text begins with the file's name.
struct TraceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace pipewright::trace
