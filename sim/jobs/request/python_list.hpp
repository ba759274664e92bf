#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::jobs {

// The numbers of a list as Python writes it: "([0]*3+[1]*58)" or "[1,0]*4"; none where the text is
// no such list, or is longer than any model.
std::optional<std::vector<std::int64_t>> python_list(std::string_view text);

}  // namespace pipewright::jobs
