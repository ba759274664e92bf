#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/measured/files/input_file.hpp"

namespace pipewright::analysis {

// The lines of a log, one at a time, without what terminals, launchers and collectors of logs put
// into and before them: colours, time stamps, "[1,0]<stdout>:", "0: ", "worker-0 | ", "> ". A file
// that gzip packed is unpacked on the way. Throws trace::TraceError for files that are no text.
class LogLines {
 public:
  explicit LogLines(const std::filesystem::path& file);

  bool next();                                                // false: there are no more
  std::string_view text() const { return text_; }             // until next()
  int number() const { return number_; }                      // from 1
  const std::string& name() const { return source_.name(); }  // of the file, printable
  [[noreturn]] void fail(int line, const std::string& what) const;

 private:
  TextSource source_;
  std::istream stream_;
  std::vector<char> buffer_;
  std::string uncoloured_, untagged_;
  std::string_view text_;
  int number_ = 0;
};

// Such a line without the things before its text.
std::string_view without_prefixes(std::string_view line);

using Words = std::vector<std::string_view>;
void split_words(std::string_view line, Words& words);  // at blanks, tabs and |

// A number as it was printed: it stands for all within `half` of it.
struct PrintedNumber {
  double value = 0;  // NaN: the log says that there is none, as "N/A"
  double half = 0;
};
std::optional<PrintedNumber> parse_printed(std::string_view word);

// "1073741824", "1_073_741_824", "1,073,741,824", each maybe with a sign.
bool is_whole_number(std::string_view word);
// Without a value: below 0 or beyond 64 bits.
std::optional<std::uint64_t> parse_whole_number(std::string_view word);

}  // namespace pipewright::analysis
