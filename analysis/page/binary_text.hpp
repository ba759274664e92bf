#pragma once

#include <string>
#include <string_view>

// How binary data gets into a text file.
namespace pipewright::analysis {

std::string gzip(std::string_view bytes);    // RFC 1952, without name or time
std::string base64(std::string_view bytes);  // RFC 4648, padded

}  // namespace pipewright::analysis
