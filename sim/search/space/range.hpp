#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"

namespace pipewright::search {

// An axis may have so many values; each is kept as a text.
inline constexpr std::size_t most_values = 100'000;

// Whether a text begins as a range does: "1..8", "8..64 step 8", "1..64 x2". A path does not.
bool is_range(std::string_view text);

// The whole numbers of a range, both ends included where the steps meet them.
std::vector<std::string> range_values(const config::Field& field);

}  // namespace pipewright::search
