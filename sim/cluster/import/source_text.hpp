#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::cluster {

// A file that a tool of others wrote, as text.
struct SourceText {
  std::string name;  // its path
  std::string text;

  // Throws Error: "FILE:LINE: what".
  [[noreturn]] void fail(int line, const std::string& what) const;
  std::string place(int line) const;  // "FILE:LINE"
};

// Throws Error for what is no text, or more than such files ever are.
SourceText read_source(const std::filesystem::path& path);

// Without line ends, and without what terminals are told by escapes.
std::vector<std::string> lines_of(const SourceText& source);

// The words between blanks.
std::vector<std::string_view> words_of(std::string_view line);
std::string_view trimmed(std::string_view text);

// A number that what was made rests on, and where it is from: a file's line, an option, a default.
struct Finding {
  std::string what;
  std::string value;
  std::string from;
};
using Findings = std::vector<Finding>;

// "23.5 GB/s", as the files of platforms/nodes write it.
std::string rate_text(double bytes_per_second);

// What payload reaches of a network's nominal rate, both in bytes/s: 24 of 25 GB/s up to HDR200, 47
// of 50 above, as the sources of platforms/nodes say.
double payload_of(double nominal);

}  // namespace pipewright::cluster
