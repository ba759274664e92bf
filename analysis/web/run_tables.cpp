#include "analysis/web/run_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/report/why/critical_path.hpp"
#include "analysis/report/why/time_split.hpp"
#include "analysis/report/why/trace_index.hpp"
#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::int64_t none = -1;

std::int64_t row_number(std::size_t row) { return static_cast<std::int64_t>(row); }

// Converts values of a trace to integers: times to ticks, and links to row numbers or -1.
class TickConverter {
 public:
  explicit TickConverter(double ticks_per_s) : per_s_(ticks_per_s) {}

  std::int64_t ticks(double s) const { return std::llround(s * per_s_); }

  static std::int64_t link(std::uint32_t link) {
    return link == trace::no_link ? none : std::int64_t{link};
  }

  // Copies values from rows of the trace to the columns of the page's table that have the same
  // name.
  template <class Row>
  void fill(ColumnTable& table, const std::vector<std::vector<const Row*>>& groups) const {
    for (const trace::Column& column : trace::Table<Row>::columns) {
      const auto& schema = table.schema->columns;
      if (std::ranges::find(schema, column.name, &ColumnSchema::name) == schema.end()) continue;
      std::vector<std::int64_t>& values = table[column.name];
      std::size_t i = 0;
      for (const auto& rows : groups)
        for (const Row* row : rows) values[i++] = value(row, column);
    }
  }

 private:
  std::int64_t value(const void* row, const trace::Column& column) const {
    using trace::value_at;
    switch (column.type) {
      case trace::ColumnType::u32:
        return value_at<std::uint32_t>(row, column);
      case trace::ColumnType::u64:
        return static_cast<std::int64_t>(value_at<std::uint64_t>(row, column));
      case trace::ColumnType::f64:
        return ticks(value_at<double>(row, column));
      case trace::ColumnType::text:
        throw std::logic_error("tables of a page hold no text");
      default:
        return value_at<std::uint8_t>(row, column);
    }
  }

  double per_s_;
};

template <class Row>
using Groups = std::vector<std::vector<const Row*>>;

template <class Row, class Index>
Groups<Row> groups_of(const std::vector<Row>& rows, std::size_t groups, Index Row::*group) {
  Groups<Row> sorted(groups);
  for (const Row& row : rows) sorted.at(row.*group).push_back(&row);
  return sorted;
}

template <class Row>
Groups<Row> single_group(const std::vector<Row>& rows) {
  Groups<Row> group(1);
  for (const Row& row : rows) group.front().push_back(&row);
  return group;
}

template <class Row>
std::vector<std::size_t> sizes_of(const std::vector<std::vector<Row>>& groups) {
  std::vector<std::size_t> sizes;
  for (const auto& rows : groups) sizes.push_back(rows.size());
  return sizes;
}

template <class Row>
ColumnTable table_of(PageTable name, const Groups<Row>& groups, const TickConverter& numbers) {
  ColumnTable table(schema_of(name), sizes_of(groups));
  numbers.fill(table, groups);
  return table;
}

// Returns, for each pass of the trace, the number of its row in the page's table.
std::vector<std::int64_t> pass_rows(const trace::Trace& trace, const ColumnTable& table) {
  std::vector<std::size_t> next(table.first.begin(), table.first.end() - 1);
  std::vector<std::int64_t> rows;
  rows.reserve(trace.passes.size());
  for (const trace::PassRow& pass : trace.passes)
    rows.push_back(row_number(next.at(pass.device)++));
  return rows;
}

// A transfer with the row numbers of its sending and its receiving pass.
struct PlacedTransfer {
  const trace::TransferRow* row;
  std::int64_t maker = none;
  std::int64_t taker = none;
};

std::vector<std::vector<PlacedTransfer>> transfers_by_taker(const trace::Trace& trace,
                                                            const TraceIndex& index,
                                                            std::span<const std::int64_t> rows) {
  std::vector<PlacedTransfer> placed;
  placed.reserve(trace.transfers.size());
  for (const trace::TransferRow& row : trace.transfers) placed.push_back({.row = &row});
  for (std::size_t i = 0; i < trace.passes.size(); ++i) {
    const std::size_t number = index.transfer_to(trace.passes[i]);
    if (number == no_row) continue;
    PlacedTransfer& transfer = placed[number];
    if (transfer.row->destination != trace.passes[i].device) continue;
    transfer.taker = rows[i];
    const std::size_t maker = index.producer(trace.passes[i]);
    const bool sent = maker != no_row && trace.passes[maker].device == transfer.row->source;
    transfer.maker = sent ? rows[maker] : none;
  }
  std::vector<std::vector<PlacedTransfer>> devices(trace.devices.size());
  for (const PlacedTransfer& transfer : placed)
    devices.at(transfer.row->destination).push_back(transfer);
  // Rows of a trace are in no defined order, so all columns are compared to make the result unique.
  const auto order = [](const PlacedTransfer& transfer) {
    const trace::TransferRow& row = *transfer.row;
    return std::tuple(transfer.taker, row.end, row.source, row.stage, row.microbatch, row.bytes);
  };
  for (auto& received : devices)
    std::sort(
        received.begin(), received.end(),
        [&](const PlacedTransfer& a, const PlacedTransfer& b) { return order(a) < order(b); });
  return devices;
}

ColumnTable transfer_table(const trace::Trace& trace, const TraceIndex& index,
                           std::span<const std::int64_t> pass_row, const TickConverter& numbers) {
  const auto placed = transfers_by_taker(trace, index, pass_row);
  Groups<trace::TransferRow> rows(placed.size());
  for (std::size_t device = 0; device < placed.size(); ++device)
    for (const PlacedTransfer& transfer : placed[device]) rows[device].push_back(transfer.row);
  ColumnTable table = table_of(PageTable::transfers, rows, numbers);
  auto maker = table["maker"].begin();
  auto taker = table["taker"].begin();
  for (const auto& received : placed)
    for (const PlacedTransfer& transfer : received) {
      *maker++ = transfer.maker;
      *taker++ = transfer.taker;
    }
  return table;
}

// Makes the table of idle times: each with the previous and the next pass of the device, and the
// transfer that brings the next pass's input.
ColumnTable idle_table(const trace::Trace& trace, const TraceIndex& index,
                       const Groups<trace::PassRow>& computed, const ColumnTable& pass_table,
                       const ColumnTable& transfer_table, const TickConverter& numbers) {
  std::vector<std::vector<Idle>> devices(trace.devices.size());
  for (const Idle& piece : idle_times(index)) devices.at(piece.device).push_back(piece);
  std::vector<std::int64_t> input_of(pass_table.rows(), none);
  const std::vector<std::int64_t>& takers = transfer_table["taker"];
  for (std::size_t i = 0; i < takers.size(); ++i)
    if (takers[i] != none) input_of[static_cast<std::size_t>(takers[i])] = row_number(i);

  ColumnTable table(schema_of(PageTable::idle), sizes_of(devices));
  auto& next = table["next"];
  auto& previous = table["previous"];
  auto& input = table["input"];
  std::size_t i = 0;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const auto& rows = computed[device];
    const std::size_t first = pass_table.first[device];
    std::size_t after = 0;
    for (const Idle& piece : devices[device]) {
      while (after < rows.size() && rows[after]->start <= piece.start) ++after;
      const bool last = after == rows.size();
      next[i] = last ? none : row_number(first + after);
      previous[i] = after == 0 ? none : row_number(first + after - 1);
      input[i] = last ? none : input_of[first + after];
      ++i;
    }
  }
  std::vector<Idle> pieces;
  for (const auto& of_device : devices)
    pieces.insert(pieces.end(), of_device.begin(), of_device.end());
  table.set("cause", pieces, [](const Idle& piece) { return std::int64_t(piece.cause); });
  table.set("stage", pieces, [](const Idle& piece) { return piece.stage; });
  table.set("microbatch", pieces, [](const Idle& piece) { return piece.microbatch; });
  table.set("start", pieces, [&](const Idle& piece) { return numbers.ticks(piece.start); });
  table.set("end", pieces, [&](const Idle& piece) { return numbers.ticks(piece.end); });
  return table;
}

ColumnTable critical_table(const TraceIndex& index, std::span<const std::int64_t> pass_row,
                           const TickConverter& numbers) {
  const std::vector<CriticalPiece> path = critical_path(index);
  ColumnTable table(schema_of(PageTable::critical), {path.size()});
  using Piece = CriticalPiece;
  table.set("part", path, [](const Piece& piece) { return std::int64_t(piece.part); });
  table.set("device", path, [](const Piece& piece) { return piece.device; });
  table.set("pass", path, [&](const Piece& piece) {
    return piece.pass == no_pass ? none : pass_row[piece.pass];
  });
  table.set("stage", path, [](const Piece& piece) { return piece.stage; });
  table.set("microbatch", path, [](const Piece& piece) { return piece.microbatch; });
  table.set("end", path, [&](const Piece& piece) { return numbers.ticks(piece.end); });
  table.set("link", path, [](const Piece& piece) { return TickConverter::link(piece.link); });
  return table;
}

// Returns the memory rows of each device, without those that leave their category unchanged.
Groups<trace::MemoryRow> memory_changes(const trace::Trace& trace) {
  Groups<trace::MemoryRow> devices(trace.devices.size());
  std::vector<std::array<std::uint64_t, trace::memory_categories>> held(devices.size());
  for (const trace::MemoryRow& row : trace.memory) {
    std::uint64_t& before = held.at(row.device).at(static_cast<std::size_t>(row.category));
    if (row.bytes == before) continue;
    devices[row.device].push_back(&row);
    before = row.bytes;
  }
  return devices;
}

// Returns the rows of link use for each link, ordered by start of their period.
Groups<trace::LinkUseRow> use_by_link(const trace::Trace& trace) {
  auto links = groups_of(trace.link_use, trace.links.size(), &trace::LinkUseRow::link);
  for (auto& rows : links)
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) {
      return std::tie(a->start, a->traffic) < std::tie(b->start, b->traffic);
    });
  return links;
}

// Columns that hold points in time rather than durations or counts.
constexpr std::array<std::string_view, 9> instants{
    "start", "end", "ready", "released", "posted", "reduced", "synchronized", "updated", "time"};

void shift_instants(std::vector<ColumnTable>& tables, std::int64_t ticks) {
  for (ColumnTable& table : tables)
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (std::ranges::count(instants, table.schema->columns[i].name) > 0)
        for (std::int64_t& instant : table.columns[i]) instant += ticks;
}

}  // namespace

std::vector<ColumnTable> run_tables(const trace::Trace& trace, double ticks_per_s, double start_s) {
  using enum PageTable;
  const TickConverter numbers(ticks_per_s);
  const TraceIndex index(trace);
  const std::size_t devices = trace.devices.size();
  const auto computed = groups_of(trace.passes, devices, &trace::PassRow::device);
  ColumnTable pass_table = table_of(passes, computed, numbers);
  {
    auto& length = pass_table["length"];
    std::ranges::transform(pass_table["end"], pass_table["start"], length.begin(), std::minus());
  }
  const std::vector<std::int64_t> pass_row = pass_rows(trace, pass_table);
  ColumnTable path_table = table_of(paths, single_group(trace.paths), numbers);
  path_table.set("link", trace.paths,
                 [](const trace::PathRow& row) { return TickConverter::link(row.link); });

  std::vector<ColumnTable> tables;  // in the order of PageTable
  tables.reserve(page_tables().size());
  tables.push_back(std::move(pass_table));
  tables.push_back(transfer_table(trace, index, pass_row, numbers));
  tables.push_back(table_of(
      collectives, groups_of(trace.collectives, devices, &trace::CollectiveRow::device), numbers));
  tables.push_back(
      table_of(steps, groups_of(trace.steps, devices, &trace::StepRow::device), numbers));
  tables.push_back(table_of(stages, single_group(trace.stages), numbers));
  tables.push_back(std::move(path_table));
  tables.push_back(idle_table(trace, index, computed, tables[0], tables[1], numbers));
  tables.push_back(critical_table(index, pass_row, numbers));
  tables.push_back(table_of(memory, memory_changes(trace), numbers));
  tables.push_back(table_of(link_use, use_by_link(trace), numbers));
  shift_instants(tables, numbers.ticks(start_s));
  return tables;
}

}  // namespace pipewright::analysis
