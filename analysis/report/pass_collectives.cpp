#include "analysis/report/pass_collectives.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace pipewright::analysis {

std::vector<PassCollectives> over_devices(std::span<const trace::PassCollectiveRow> rows) {
  std::vector<PassCollectives> kinds;
  std::map<std::pair<std::string, std::string>, std::size_t> indices;
  const auto widen = [](Range& range, double value) {
    range = {std::min(range.least, value), std::max(range.most, value)};
  };
  for (const trace::PassCollectiveRow& row : rows) {
    const auto [it, is_new] = indices.try_emplace({row.group, row.operation}, kinds.size());
    if (is_new)
      kinds.push_back({.group = row.group,
                       .operation = row.operation,
                       .seconds = {row.seconds, row.seconds},
                       .exposed_s = {row.exposed, row.exposed}});
    PassCollectives& kind = kinds[it->second];
    kind.calls = std::max(kind.calls, row.calls);
    kind.bytes = std::max(kind.bytes, row.bytes);
    widen(kind.seconds, row.seconds);
    widen(kind.exposed_s, row.exposed);
  }
  return kinds;
}

}  // namespace pipewright::analysis
