#pragma once

#include <string>
#include <string_view>

namespace pipewright::analysis::test {

// Reverses the base64 and gzip encodings of data in a page, which analysis/web/html_file.hpp
// writes.
std::string from_base64(std::string_view text);
std::string gunzip(std::string_view packed);

}  // namespace pipewright::analysis::test
