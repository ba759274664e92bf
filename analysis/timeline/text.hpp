#pragma once

#include <string>
#include <string_view>

namespace pipewright::analysis {

// UTF-8 without control characters; what is neither becomes U+FFFD, one for each byte.
std::string drawable(std::string_view words);

void drop_last_character(std::string& utf8);

}  // namespace pipewright::analysis
