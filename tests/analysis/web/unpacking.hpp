#pragma once

#include <string>
#include <string_view>

namespace pipewright::analysis::test {

// Decodes the encodings of analysis/web/html_file.hpp.
std::string from_base64(std::string_view text);
std::string gunzip(std::string_view packed);

}  // namespace pipewright::analysis::test
