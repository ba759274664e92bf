#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>

namespace pipewright::cluster {

// A fault in a platform file, or in the use of one. what() is "file:line: message" as far as the
// file and the line are known.
struct Error : std::runtime_error {
  explicit Error(std::string text) : std::runtime_error(text), message(std::move(text)) {}
  // A line of 0 means that the fault concerns the file as a whole.
  Error(const std::filesystem::path& path, int line_number, std::string text)
      : std::runtime_error(path.string() +
                           (line_number > 0 ? ":" + std::to_string(line_number) : "") + ": " +
                           text),
        file(path),
        line(line_number),
        message(std::move(text)) {}

  std::filesystem::path file;  // empty: unknown
  int line = 0;                // from 1; 0: unknown
  std::string message;         // the text without file and line
};

}  // namespace pipewright::cluster
