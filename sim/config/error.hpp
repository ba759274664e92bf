#pragma once

#include <stdexcept>
#include <string>

namespace pipewright::config {

// A fault in what the user wrote: "file:line:column: what was found; what is allowed".
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text) {}
};

}  // namespace pipewright::config
