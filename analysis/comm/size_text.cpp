#include "analysis/comm/size_text.hpp"

#include <array>

#include <fmt/format.h>

namespace pipewright::analysis {

std::string size_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes != 0 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, units[unit]);
}

}  // namespace pipewright::analysis
