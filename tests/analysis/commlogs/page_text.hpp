#pragma once

#include <cstddef>
#include <string>

namespace pipewright::test {

// How often a part is in a text.
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

}  // namespace pipewright::test
