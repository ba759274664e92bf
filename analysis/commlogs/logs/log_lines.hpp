#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/commlogs/logs/rank_tags.hpp"
#include "analysis/measured/files/input_file.hpp"

namespace pipewright::analysis {

// Reads the lines of a log one by one, without the additions of terminals, launchers and log
// collectors: colours, time stamps, and prefixes such as "[1,0]<stdout>:", "0: ", "worker-0 | " or
// "> ". Where launchers put tags of ranks between the pieces of a line, the pieces are joined.
// Files packed by gzip are unpacked on the fly. Throws trace::TraceError for files that are not
// text.
class LogLines {
 public:
  explicit LogLines(const std::filesystem::path& file);

  bool next();  // Advances to the next line; returns false at the end.
  std::string_view text() const { return text_; }             // Valid until next().
  int number() const { return number_; }                      // Counted from 1.
  const std::string& name() const { return source_.name(); }  // Printable name of the file.
  [[noreturn]] void fail(int line, const std::string& message) const;

 private:
  void check_text(std::string_view part) const;

  TextSource source_;
  std::istream stream_;
  std::vector<char> buffer_;
  std::string uncoloured_, untagged_;
  RankLines ranks_;
  std::string_view text_;
  int number_ = 0;
};

// Returns a single line without the prefixes that LogLines removes. Sets `rank_tag`, if it is not
// null, to the prefix that names a rank; empty if there is none.
std::string_view without_prefixes(std::string_view line, std::string_view* rank_tag = nullptr);

using Words = std::vector<std::string_view>;
void split_words(std::string_view line, Words& words);  // Splits at blanks, tabs and '|'.

// A number as a log prints it. Since printing rounds, the true value lies within `half` of it.
struct PrintedNumber {
  double value = 0;  // NaN if the log says that there is no value ("N/A").
  double half = 0;
};
// Parses a printed number; returns no value if the word is not a number.
std::optional<PrintedNumber> parse_printed(std::string_view word);

// Returns true for whole numbers such as "1073741824", "1_073_741_824" and "1,073,741,824", each
// with an optional sign.
bool is_whole_number(std::string_view word);
// Parses a whole number; returns no value if it is below 0 or does not fit into 64 bits.
std::optional<std::uint64_t> parse_whole_number(std::string_view word);

}  // namespace pipewright::analysis
