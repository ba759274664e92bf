#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cluster/platform/error.hpp"

namespace pipewright::cluster {

// Text of a file that another tool wrote.
struct SourceText {
  std::string name;  // path of the file
  std::string text;

  // Throws an error with file and line.
  [[noreturn]] void fail(int line, const Error& error) const;
  std::string location(int line) const;  // "FILE:LINE"
};

// Reads a file. Throws Error if it is not text or exceeds the size limit.
SourceText read_source(const std::filesystem::path& path);

// Splits the text into lines, without line ends and terminal escape sequences.
std::vector<std::string> lines_of(const SourceText& source);

// Splits a line at blanks.
std::vector<std::string_view> words_of(std::string_view line);
std::string_view trimmed(std::string_view text);

// A fact that an import uses, and its origin: a line of a file, an option or a default.
struct Finding {
  std::string subject;
  std::string value;
  std::string origin;
};
using Findings = std::vector<Finding>;

// Formats a rate as in platforms/nodes: "23.5 GB/s".
std::string rate_text(double bytes_per_second);

// Bandwidth that payload reaches on a network link with this nominal bandwidth, both in bytes/s: 24
// of 25 GB/s up to HDR200, 47 of 50 GB/s above, from the sources of platforms/nodes.
double payload_of(double nominal);

}  // namespace pipewright::cluster
