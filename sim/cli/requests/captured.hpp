#pragma once

#include <string>
#include <string_view>

#include "sim/cli/requests/connection.hpp"

namespace pipewright::cli {

// Captures in memory all output of this process to a stream, from the construction on.
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
