#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pipewright::cluster {

enum class Quantity : std::uint8_t { time, bandwidth, speed };

// Parses a number with a SimGrid unit: "2us", "25GBps" (bytes/s), "200Gbps" (bits/s), "1GiBps",
// "989Tf". A bare number is in seconds, bytes/s or FLOP/s. Returns nothing if the text is not a
// quantity.
std::optional<double> parse_quantity(std::string_view text, Quantity quantity);

}  // namespace pipewright::cluster
