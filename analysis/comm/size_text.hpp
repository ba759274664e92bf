#pragma once

#include <cstdint>
#include <string>

namespace pipewright::analysis {

// A size of a benchmark, exactly: in the largest unit of which it is a whole number, "8 B",
// "64 KiB", "3 MiB", "1000 B".
std::string size_text(std::uint64_t bytes);

}  // namespace pipewright::analysis
