#pragma once

#include <cstdint>
#include <string_view>

namespace pipewright::analysis::test {

// The other direction of analysis/page/varints.hpp.
class VarintReader {
 public:
  explicit VarintReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t count() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_.at(at_++));
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::int64_t number() {
    const std::uint64_t twice = count();
    const auto half = static_cast<std::int64_t>(twice / 2);
    return twice % 2 == 0 ? half : -half - 1;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace pipewright::analysis::test
