#pragma once

#include <cstddef>
#include <string>

namespace pipewright::test {

// Returns how often `part` occurs in `text`.
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t occurrences = 0;
  for (std::size_t position = text.find(part); position != std::string::npos;
       position = text.find(part, position + 1))
    ++occurrences;
  return occurrences;
}

}  // namespace pipewright::test
