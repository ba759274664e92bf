#include "analysis/report/pass_collectives.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace pipewright::analysis {

std::vector<PassCollectives> over_devices(std::span<const trace::PassCollectiveRow> rows) {
  std::vector<PassCollectives> all;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const auto widen = [](Range& range, double value) {
    range = {std::min(range.least, value), std::max(range.most, value)};
  };
  for (const trace::PassCollectiveRow& row : rows) {
    const auto [place, is_new] = places.try_emplace({row.group, row.operation}, all.size());
    if (is_new)
      all.push_back({.group = row.group,
                     .operation = row.operation,
                     .seconds = {row.seconds, row.seconds},
                     .exposed_s = {row.exposed, row.exposed}});
    PassCollectives& one = all[place->second];
    one.calls = std::max(one.calls, row.calls);
    one.bytes = std::max(one.bytes, row.bytes);
    widen(one.seconds, row.seconds);
    widen(one.exposed_s, row.exposed);
  }
  return all;
}

}  // namespace pipewright::analysis
