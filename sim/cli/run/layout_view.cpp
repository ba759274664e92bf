#include "sim/cli/run/layout_view.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::cli {
namespace {

using config::Axis;
using workload::Coordinates;
using Numbers = std::vector<std::uint32_t>;

constexpr std::size_t max_runs = 6;   // of an irregular sequence
constexpr std::size_t max_rows = 24;  // a longer table shows its first and last rows
constexpr std::size_t last_rows = 4;

struct Column {
  const char* name;
  std::uint32_t Coordinates::*index;
  std::uint32_t size;
};

std::vector<Column> columns_of(const config::Parallel& parallel) {
  const std::vector<Column> axes{{"tp", &Coordinates::tp, parallel.tp.value},
                                 {"cp", &Coordinates::cp, parallel.cp.value},
                                 {"ep", &Coordinates::ep, parallel.ep.value},
                                 {"dp", &Coordinates::dp, parallel.dp.value},
                                 {"pp", &Coordinates::pp, parallel.pp.value}};
  std::vector<Column> columns;
  for (const Axis axis : parallel.order) {
    const Column& column = axes[static_cast<std::size_t>(axis)];
    if (axis == Axis::ep && parallel.expert_tp() != parallel.tp.value && parallel.expert_tp() > 1)
      columns.push_back({"etp", &Coordinates::etp, parallel.expert_tp()});
    if (column.size > 1) columns.push_back(column);
  }
  return columns;
}

std::string describe_runs(std::span<const std::uint32_t> values) {
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < values.size(); ++runs) {
    if (runs == max_runs) return text + ", ...";
    std::size_t end = i + 1;
    while (end < values.size() && values[end] == values[end - 1] + 1) ++end;
    text +=
        (runs == 0 ? "" : ", ") + (end - i == 1 ? fmt::format("{}", values[i])
                                                : fmt::format("{}-{}", values[i], values[end - 1]));
    i = end;
  }
  return text;
}

Numbers in_order(std::uint32_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

// Index of each GPU of the cluster within its node.
Numbers indices_in_nodes(const execution::RankPlacement& placement) {
  std::unordered_map<std::uint32_t, std::uint32_t> next_index;
  Numbers numbers;
  for (const cluster::Host* gpu : placement.cluster().gpus())
    numbers.push_back(next_index[placement.cluster().node_of(gpu)]++);
  return numbers;
}

// Divides the ranks, in the order of their GPUs, into the rows of the placement table.
std::vector<Numbers> rows_of(const std::vector<Column>& columns, const workload::Ranks& ranks,
                             const execution::RankPlacement& placement) {
  Numbers sorted = in_order(ranks.size());
  std::ranges::stable_sort(sorted, {},
                           [&](std::uint32_t rank) { return placement.gpu_index(rank); });
  // Expert parallelism is no axis of its own: experts span tp, cp and dp.
  std::uint32_t Coordinates::*outermost = nullptr;
  for (const Column& column : columns)
    if (column.index != &Coordinates::ep && column.index != &Coordinates::etp)
      outermost = column.index;
  std::vector<Numbers> rows;
  for (const std::uint32_t rank : sorted) {
    const auto is_in_row = [&](std::uint32_t last) {
      // Devices of different sizes need not fill whole nodes, so a row also ends with its node.
      if (ranks.are_uneven() && placement.node(last) != placement.node(rank)) return false;
      return outermost == nullptr || ranks.of(last).*outermost == ranks.of(rank).*outermost;
    };
    if (rows.empty() || !is_in_row(rows.back().back())) rows.emplace_back();
    rows.back().push_back(rank);
  }
  return rows;
}

}  // namespace

std::string describe_sequence(std::span<const std::uint32_t> values) {
  if (values.empty()) return "";
  const std::uint32_t first = values.front();
  std::size_t repeats = 1;
  while (repeats < values.size() && values[repeats] == first) ++repeats;
  if (repeats == values.size()) return fmt::format("{}", first);
  const std::uint32_t step = values[repeats] > first ? values[repeats] - first : 0;
  std::size_t count = 1;  // of different values
  while (count * repeats < values.size() && values[count * repeats] == first + count * step)
    ++count;
  const std::size_t period = repeats * count;
  bool regular = step > 0 && values.size() % period == 0;
  for (std::size_t i = 0; regular && i < values.size(); ++i)
    regular = values[i] == first + i % period / repeats * step;
  if (!regular) return describe_runs(values);

  std::string text = fmt::format("{}-{}", first, first + (count - 1) * step);
  if (step != 1) text += fmt::format(" by {}", step);
  if (repeats > 1) text += fmt::format(" ({} each)", repeats);
  if (values.size() > period) text += fmt::format(" x{}", values.size() / period);
  return text;
}

std::string placement_table(const config::Parallel& parallel, const workload::Ranks& ranks,
                            const execution::RankPlacement& placement) {
  const std::vector<Column> columns = columns_of(parallel);
  const std::vector<Numbers> rows = rows_of(columns, ranks, placement);
  const Numbers index_in_node = indices_in_nodes(placement);

  std::vector<std::vector<std::string>> cells(columns.size() + 3);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.size() > max_rows && row == max_rows - last_rows) {
      row = rows.size() - last_rows;
      for (auto& column : cells) column.emplace_back();
      cells[0].back() = fmt::format("... {} more", rows.size() - max_rows);
    }
    const auto describe = [&](auto number_of, bool is_set) {
      Numbers numbers;
      for (const std::uint32_t rank : rows[row]) numbers.push_back(number_of(rank));
      if (is_set) {
        std::ranges::sort(numbers);
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      }
      return describe_sequence(numbers);
    };
    cells[0].push_back(describe([&](auto rank) { return placement.node(rank); }, true));
    cells[1].push_back(
        describe([&](auto rank) { return index_in_node[placement.gpu_index(rank)]; }, true));
    cells[2].push_back(describe([](auto rank) { return rank; }, false));
    for (std::size_t i = 0; i < columns.size(); ++i)
      cells[i + 3].push_back(
          describe([&](auto rank) { return ranks.of(rank).*columns[i].index; }, false));
  }
  analysis::TextTable table;
  if (!placement.cluster().is_ideal()) {
    table.add_names("nodes", cells[0]);
    table.add_names("GPUs per node", cells[1]);
  }
  table.add_names("ranks", cells[2]);
  for (std::size_t i = 0; i < columns.size(); ++i) table.add_names(columns[i].name, cells[i + 3]);
  return table.text();
}

}  // namespace pipewright::cli
