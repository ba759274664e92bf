#pragma once

#include <string>
#include <string_view>

#include "sim/cli/requests/connection.hpp"

namespace pipewright::cli {

// What this process writes to one of its streams from here on, kept in memory.
class Captured {
 public:
  explicit Captured(int stream);
  std::string text() const;

 private:
  File file_;
};

// What this process reads from its standard input from here on.
void give_input(std::string_view text);

}  // namespace pipewright::cli
