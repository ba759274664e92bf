#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::analysis::test {

// The other direction of analysis/page/binary_text.hpp and row_columns.hpp.
std::string from_base64(std::string_view text);
std::string gunzip(std::string_view packed);

struct Unpacked {
  struct Pass {
    std::int64_t start, end, released, ready;  // ticks
    std::int64_t kind, stage, chunk, microbatch, iteration;
  };
  std::vector<std::vector<Pass>> passes;  // [device]
};
Unpacked unpack(std::string_view columns, std::size_t devices);

}  // namespace pipewright::analysis::test
