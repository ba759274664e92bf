#include "sim/config/text/counts.hpp"

#include <array>
#include <cmath>

#include "sim/base/numbers.hpp"

namespace pipewright::config {

std::optional<std::uint64_t> scaled_count(std::string_view text) {
  struct Scale {
    std::string_view letters;
    double factor;
  };
  constexpr std::array scales{
      Scale{"Ki", 0x1.0p+10}, Scale{"Mi", 0x1.0p+20}, Scale{"Gi", 0x1.0p+30}, Scale{"k", 1e3},
      Scale{"M", 1e6},        Scale{"G", 1e9},        Scale{"B", 1e9}};
  for (const Scale& scale : scales) {
    if (!text.ends_with(scale.letters)) continue;
    text.remove_suffix(scale.letters.size());
    const std::size_t end = text.find_last_not_of(' ');
    const auto number = base::parse_number<double>(text.substr(0, end + 1));
    if (!number || *number < 0) return std::nullopt;
    const double count = *number * scale.factor;
    constexpr double largest = 0x1.0p+53;  // whole numbers up to here are exact
    if (count > largest || count != std::floor(count)) return std::nullopt;
    return static_cast<std::uint64_t>(count);
  }
  return base::parse_number<std::uint64_t>(text);
}

}  // namespace pipewright::config
