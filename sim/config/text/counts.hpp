#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pipewright::config {

// Returns the whole number that a text means, with the scales of SI or of IEC, as read_count() in
// fields.hpp accepts it: "8k" is 8000, "8Ki" 8192 and "1.5M" 1500000. Nothing for any other text.
std::optional<std::uint64_t> scaled_count(std::string_view text);

}  // namespace pipewright::config
