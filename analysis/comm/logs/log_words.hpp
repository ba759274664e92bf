#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pipewright::analysis {

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
