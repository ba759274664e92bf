#pragma once

#include <string>
#include <string_view>

#include "sim/cli/requests/connection.hpp"

namespace pipewright::cli {

// Captures in memory what this process writes to a stream from now on.
class Captured {
 public:
  explicit Captured(int stream);
  std::string text() const;

 private:
  File file_;
};

// Replaces the standard input of this process by a text.
void set_input(std::string_view text);

}  // namespace pipewright::cli
