#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/config/text/error.hpp"

namespace pipewright::cluster {

// A fault in a platform file, or in the use of one. what() is "file:line: message" as far as the
// file and the line are known.
struct Error : config::ErrorOf<Error> {
  using ErrorOf::ErrorOf;
  // Texts convert to errors, so that functions that add a location take either.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Error(const std::string& found) : ErrorOf(found) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Error(const char* found) : ErrorOf(found) {}
  // A line of 0 means that the fault concerns the file as a whole.
  Error(const std::filesystem::path& path, int line, std::string_view found)
      : ErrorOf({.source = path.string(), .line = line}, found) {}
};

}  // namespace pipewright::cluster
