#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Quantities as people read them: the scale that leaves one to three digits before the point.
namespace pipewright::analysis {

std::string format_seconds(double s);                          // "2.274 s", "18.50 ms", "531 us"
std::string format_bytes(std::uint64_t bytes);                 // "24.0 MiB", "40.6 GiB"
std::string format_percent(double ratio);                      // "10.9 %" for 0.109
std::string format_rate(double per_s, std::string_view what);  // "33.8 samples/s", "1.2 M tokens/s"

// A size exactly, in the largest unit of which it is a whole number: "8 B", "64 KiB", "1000 B".
std::string format_exact_bytes(std::uint64_t bytes);

}  // namespace pipewright::analysis
