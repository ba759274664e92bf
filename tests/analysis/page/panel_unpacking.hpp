#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace pipewright::analysis::test {

// The other direction of analysis/page/memory_columns.hpp and link_columns.hpp; times are ticks.
struct MemoryChange {
  std::int64_t time;
  std::uint64_t category;
  std::int64_t difference;
};
std::vector<std::vector<MemoryChange>> unpack_memory(std::string_view columns, std::size_t devices);

struct LinkUse {
  std::int64_t start, end;
  std::uint64_t traffic, bytes, flows, waited;
};
std::vector<std::vector<LinkUse>> unpack_links(std::string_view columns, std::size_t links);

}  // namespace pipewright::analysis::test
