#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pipewright::process {

// Lines out of what a pipe brings in pieces.
class LineReader {
 public:
  // Takes what there is to read, once. False at the end, on an error, and when a line is longer
  // than any that is sensible.
  bool read_from(int descriptor);
  bool is_too_long() const;
  // The next whole line, without its newline.
  std::optional<std::string> next();

 private:
  std::string text_;
  std::size_t taken_ = 0;   // before it: given out
  std::size_t looked_ = 0;  // between the two: no newline
};

}  // namespace pipewright::process
