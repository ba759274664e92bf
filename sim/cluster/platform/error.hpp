#pragma once

#include <stdexcept>

namespace pipewright::cluster {

// A platform file, or a use of one, that cannot work.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace pipewright::cluster
