#pragma once

#include <stdexcept>

namespace pipewright::cluster {

// Error in a platform file, or in what is asked of it.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace pipewright::cluster
