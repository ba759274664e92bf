#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::jobs {

// Evaluates a Python list expression of numbers, such as "([0]*3+[1]*58)" or "[1,0]*4". None if the
// text is not such an expression, or the list is longer than the layers of any model.
std::optional<std::vector<std::int64_t>> python_list(std::string_view text);

}  // namespace pipewright::jobs
