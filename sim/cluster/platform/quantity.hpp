#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pipewright::cluster {

enum class Quantity : std::uint8_t { time, bandwidth, speed };

// A number and its unit as SimGrid reads them: "2us", "25GBps" (bytes/s), "200Gbps" (bits/s),
// "1GiBps", "989Tf"; without a unit in seconds, bytes/s or FLOP/s. None if it is no such thing.
std::optional<double> parse_quantity(std::string_view text, Quantity quantity);

}  // namespace pipewright::cluster
