#include "analysis/page/link_columns.hpp"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "analysis/page/varints.hpp"

namespace pipewright::analysis {

std::string link_columns(const trace::Trace& trace, double ticks_per_s) {
  const Ticks ticks(ticks_per_s);
  const auto length = [&](double s) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ticks(s)));
  };
  std::vector<std::vector<const trace::LinkUseRow*>> links(trace.links.size());
  for (const trace::LinkUseRow& row : trace.link_use) links.at(row.link).push_back(&row);

  // Those of one piece of time stand together.
  for (auto& rows : links)
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return std::tie(a->start, a->traffic) < std::tie(b->start, b->traffic);
    });

  std::string bytes;
  for (const auto& rows : links) put(bytes, rows.size());
  for (const auto& rows : links) {
    std::int64_t before = 0;
    for (const trace::LinkUseRow* row : rows) {
      put_signed(bytes, ticks(row->start) - before);
      before = ticks(row->start);
    }
  }
  const auto column = [&](auto&& value) {
    for (const auto& rows : links)
      for (const trace::LinkUseRow* row : rows) put(bytes, value(*row));
  };
  using Row = trace::LinkUseRow;
  // Ends that are equal in the trace stay equal to the starts after them.
  column([&](const Row& row) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ticks(row.end) - ticks(row.start)));
  });
  column([](const Row& row) { return static_cast<std::uint64_t>(row.traffic); });
  column([](const Row& row) { return row.bytes; });
  column([&](const Row& row) { return length(row.flows); });
  column([&](const Row& row) { return length(row.waited); });
  return bytes;
}

}  // namespace pipewright::analysis
