#pragma once

#include <cmath>
#include <cstdint>
#include <string>

// What the rows of a trace are packed of: varints have 7 bits a byte, the lowest first, the high
// bit set on all but the last; a signed value v is the varint of 2v or, if negative, of -2v - 1.
namespace pipewright::analysis {

inline void put(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

inline void put_signed(std::string& bytes, std::int64_t value) {
  const auto twice = static_cast<std::uint64_t>(value) << 1;
  put(bytes, value < 0 ? ~twice : twice);
}

// Times as whole numbers of the page's unit.
class Ticks {
 public:
  explicit Ticks(double per_s) : per_s_(per_s) {}
  std::int64_t operator()(double s) const { return std::llround(s * per_s_); }

 private:
  double per_s_;
};

}  // namespace pipewright::analysis
