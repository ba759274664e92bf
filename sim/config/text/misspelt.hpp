#pragma once

#include <span>
#include <string_view>

namespace pipewright::config {

// Returns the name that a text misspells; empty if there is none. A name with other numbers stands
// for another thing, unless the text is its beginning: h800 is no misspelt h200 and qwen3-32b no
// misspelt qwen2.5-32b, but h100 may mean h100-sxm. Of several names that begin with the text, the
// shortest is returned.
std::string_view misspelt_name(std::string_view text, std::span<const std::string_view> names);

}  // namespace pipewright::config
