#include "sim/workload/kernel_table/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/kernel_table/experts_row.hpp"

namespace pipewright::workload {
namespace {

using config::DataType;
using config::Error;

constexpr std::array<std::string_view, 8> kernel_kinds{
    "product", "grouped", "experts", "cast", "attention", "memory", "launch", "all-reduce"};
constexpr std::array<std::string_view, 22> table_columns{
    "kernel",   "dtype",    "m",      "n",       "k",      "count",  "bytes", "tokens",
    "hidden",   "inter",    "topk",   "experts", "moe_ep", "gated",  "batch", "heads",
    "head_dim", "sequence", "causal", "pass",    "cast",   "time_us"};

std::vector<std::string> csv_cells(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else if (c != '\r')
      cells.back() += c;
  }
  return cells;
}

// A line of the table, whose cells can be looked up by the names of their columns.
class TableLine {
 public:
  TableLine(config::Origin location, const std::vector<std::string>& columns,
            const std::vector<std::string>& cells)
      : location_(std::move(location)) {
    if (cells.size() > columns.size())
      fail(fmt::format("the line has {} cells, but the table has {} columns", cells.size(),
                       columns.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) cells_[columns[i]] = cells[i];
  }

  [[noreturn]] void fail(const std::string& found) const { fail(Error(found)); }
  [[noreturn]] void fail(const Error& error) const { throw error.at(location_); }
  std::string text(const std::string& column) const {
    const auto cell = cells_.find(column);
    return cell == cells_.end() ? "" : cell->second;
  }
  bool has(const std::string& column) const { return !text(column).empty(); }

  // Returns the number in a column, which must be above 0.
  double number(const std::string& column) const {
    const std::string cell = text(column);
    if (cell.empty()) fail(fmt::format("{} is missing{}", column, has_kinds() ? "" : kind_hint));
    const std::optional<double> value = base::parse_number<double>(cell);
    if (!value || !std::isfinite(*value) || *value <= 0)
      fail(Error(fmt::format("{} is {}", column, config::describe_text(cell)))
               .allow("a number above 0"));
    return *value;
  }
  double whole(const std::string& column) const {
    const double value = number(column);
    if (value != std::floor(value))
      fail(Error(fmt::format("{} is {}", column, text(column))).allow("a whole number"));
    return value;
  }
  double number_or(const std::string& column, double default_value) const {
    return has(column) ? number(column) : default_value;
  }
  bool flag(const std::string& column, bool default_value) const {
    const std::string cell = text(column);
    if (cell.empty()) return default_value;
    if (cell == "1" || cell == "true") return true;
    if (cell != "0" && cell != "false")
      fail(Error(fmt::format("{} is {}", column, config::describe_text(cell))).allow("0 or 1"));
    return false;
  }
  std::size_t choice(const std::string& column, std::span<const std::string_view> names) const {
    const std::string cell = text(column);
    const auto name = std::ranges::find(names, cell);
    if (cell.empty() && !has_kinds()) fail(fmt::format("{} is missing{}", column, kind_hint));
    if (name == names.end())
      fail(Error(fmt::format("{} is {}", column, config::describe_text(cell)))
               .suggest_name(config::nearest_name(cell, names))
               .allow(fmt::format("{}", fmt::join(names, ", "))));
    return static_cast<std::size_t>(name - names.begin());
  }

 private:
  static constexpr std::string_view kind_hint = ": without a column kernel, all rows are products";
  bool has_kinds() const { return cells_.contains("kernel"); }

  config::Origin location_;
  std::map<std::string, std::string> cells_;
};

// Reads a data type. Also accepts the names that PyTorch and TensorRT-LLM use.
DataType read_dtype(const TableLine& line) {
  const std::string cell = line.text("dtype");
  if (cell == "bfloat16") return DataType::bf16;
  if (cell == "float16") return DataType::fp16;
  if (cell == "fp8_block") return DataType::fp8_block;
  return static_cast<DataType>(line.choice("dtype", config::data_types));
}

MeasuredKernel read_product(const TableLine& line, MeasuredKind kind) {
  MeasuredKernel row;
  Kernel& kernel = row.kernel;
  kernel.type = read_dtype(line);
  kernel.rows = line.whole("m");
  kernel.inner = line.whole("k");
  const bool is_scaled = config::is_scaled(kernel.type);
  if (kind == MeasuredKind::cast) {
    if (!is_scaled)
      line.fail(Error("a cast cannot be to 16 bits or more").allow("fp8, nvfp4, ..."));
    row.casts = kernel.rows * kernel.inner;
    row.description = fmt::format("{} x {}", kernel.rows, kernel.inner);
    return row;
  }
  kernel.work = kind == MeasuredKind::grouped ? Kernel::Work::grouped : Kernel::Work::product;
  kernel.columns = line.whole("n");
  kernel.count = kind == MeasuredKind::grouped ? line.whole("count") : 1;
  kernel.flops = 2 * kernel.rows * kernel.columns * kernel.inner * kernel.count;
  kernel.bytes = kernel.count * (config::element_bytes(kernel.type) * kernel.inner *
                                     (kernel.rows + kernel.columns) +
                                 2 * kernel.rows * kernel.columns);
  if (is_scaled && line.flag("cast", !line.has("kernel")))
    row.casts = kernel.count * kernel.rows * kernel.inner;
  row.description = fmt::format("{} x {} x {}", kernel.rows, kernel.columns, kernel.inner);
  if (kind == MeasuredKind::grouped)
    row.description = fmt::format("{} of {}", kernel.count, row.description);
  return row;
}

MeasuredKernel read_experts(const TableLine& line) {
  const ExpertsTiming timing{.type = read_dtype(line),
                             .tokens = line.whole("tokens"),
                             .hidden = line.whole("hidden"),
                             .inter = line.whole("inter"),
                             .top_k = line.whole("topk"),
                             .experts = line.whole("experts"),
                             .ep = line.number_or("moe_ep", 1),
                             .gated = line.flag("gated", true)};
  if (timing.ep > timing.experts)
    line.fail(Error(fmt::format("moe_ep is {}", timing.ep))
                  .allow(fmt::format("at most the {} experts", timing.experts)));
  return experts_row(timing);
}

MeasuredKernel read_attention(const TableLine& line) {
  constexpr std::array<std::string_view, 2> passes{"forward", "backward"};
  const double sequence = line.whole("sequence");
  const double heads = line.whole("heads");
  const double size = line.whole("head_dim");
  const bool causal = line.flag("causal", true);
  MeasuredKernel row;
  row.kernel.work = Kernel::Work::attention;
  row.kernel.type = line.has("dtype") ? read_dtype(line) : DataType::bf16;
  row.kernel.backward = line.choice("pass", passes) == 1;
  row.kernel.keys = sequence;
  row.kernel.head = size;
  // The forward pass has two matrix products; the backward pass has five, since it recomputes the
  // scores.
  row.kernel.flops = (row.kernel.backward ? 10 : 4) * line.number_or("batch", 1) * heads * size *
                     sequence * sequence * (causal ? 0.5 : 1);
  row.description =
      fmt::format("{} tokens, {} heads of {}{}", sequence, heads, size, causal ? ", causal" : "");
  return row;
}

MeasuredKernel read_row(const TableLine& line) {
  const MeasuredKind kind = line.has("kernel")
                                ? static_cast<MeasuredKind>(line.choice("kernel", kernel_kinds))
                                : MeasuredKind::product;
  MeasuredKernel row;
  switch (kind) {
    case MeasuredKind::product:
    case MeasuredKind::grouped:
    case MeasuredKind::cast:
      row = read_product(line, kind);
      break;
    case MeasuredKind::experts:
      row = read_experts(line);
      break;
    case MeasuredKind::attention:
      row = read_attention(line);
      break;
    case MeasuredKind::memory:
      row.kernel.bytes = line.number("bytes");
      row.description = fmt::format("{:.4g} MB", row.kernel.bytes / 1e6);
      break;
    case MeasuredKind::launch:
    case MeasuredKind::all_reduce:
      break;
  }
  row.kind = kind;
  row.seconds = line.number("time_us") * 1e-6;
  return row;
}

void check_table_columns(const config::Origin& location, const std::vector<std::string>& columns) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(columns, name) != columns.end();
  };
  const auto require_column = [&](std::string_view name) {
    if (!has(name))
      throw Error(location,
                  fmt::format("no column {}; the table has {}", name, fmt::join(columns, ", ")))
          .allow(fmt::format("{}, of which each kind of kernel needs some",
                             fmt::join(table_columns, ", ")));
  };
  // A column whose name is similar to that of a missing column is probably a typing error.
  for (const std::string& column : columns) {
    std::vector<std::string_view> absent;
    std::ranges::copy_if(table_columns, std::back_inserter(absent),
                         [&](std::string_view name) { return !has(name); });
    const std::string_view name = config::nearest_name(column, absent);
    if (std::ranges::find(table_columns, column) == table_columns.end() && !name.empty())
      throw Error(location, fmt::format("unknown column {}", config::in_quotes(column)))
          .suggest_name(name);
  }
  require_column("time_us");
  if (has("kernel")) return;
  for (const std::string_view name : {"dtype", "m", "n", "k"}) require_column(name);
}

}  // namespace

bool depends_on_gpu_file(const MeasuredKernel& row) {
  return row.kind != MeasuredKind::all_reduce && row.kind != MeasuredKind::launch;
}

std::string group_of(const MeasuredKernel& row) {
  const std::string_view kind = kernel_kinds[static_cast<std::size_t>(row.kind)];
  switch (row.kind) {
    case MeasuredKind::product:
    case MeasuredKind::grouped:
    case MeasuredKind::experts:
    case MeasuredKind::cast:
      return fmt::format("{} {}", kind, config::name_of(row.kernel.type));
    case MeasuredKind::attention:
      return fmt::format("{} {}", kind, row.kernel.backward ? "backward" : "forward");
    default:
      return std::string(kind);
  }
}

KernelTable read_kernel_table(const std::filesystem::path& file,
                              const std::optional<std::string>& system) {
  std::ifstream stream(file);
  if (!stream) throw Error({.source = file.string()}, "cannot be read");
  KernelTable table{file.string(), {}};
  std::vector<std::string> columns;
  std::set<std::string> systems;
  std::string text;
  for (std::size_t number = 1; std::getline(stream, text); ++number) {
    if (text.empty() || text == "\r" || text.front() == '#') continue;
    const config::Origin location{.source = table.file, .line = static_cast<int>(number)};
    if (columns.empty()) {
      columns = csv_cells(text);
      check_table_columns(location, columns);
      continue;
    }
    const TableLine line(location, columns, csv_cells(text));
    systems.insert(line.text("system"));
    if (system && line.text("system") != *system) continue;
    table.rows.push_back(read_row(line));
    table.rows.back().line = number;
  }
  if (columns.empty()) throw Error({.source = table.file}, "the file has no line of column names");
  const bool has_systems = std::ranges::find(columns, "system") != columns.end();
  if (system && !has_systems)
    throw Error({.source = table.file},
                fmt::format("no column system, by which --system {} selects rows", *system))
        .suggest("omit the option");
  if (system ? !systems.contains(*system) : systems.size() > 1)
    throw Error({.source = table.file},
                fmt::format("the rows are of several systems, {}", fmt::join(systems, ", ")))
        .suggest("select one with --system");
  if (table.rows.empty()) throw Error({.source = table.file}, "no rows");
  return table;
}

double predicted_seconds(const MeasuredKernel& row, const config::Gpu& gpu) {
  const config::Gpu full_clock = config::at_full_clock(gpu);
  double seconds = row.kind == MeasuredKind::cast ? 0 : kernel_time(row.kernel, full_clock).seconds;
  for (const Kernel& extra : row.extra_kernels) seconds += kernel_time(extra, full_clock).seconds;
  if (row.casts == 0) return seconds;
  const config::Products& products = products_of(gpu, row.kernel.type);
  if (row.kernel.work == Kernel::Work::grouped && products.grouped)
    return seconds + products.grouped->cast * row.casts / gpu.memory_bandwidth;
  return seconds + products.cast_overhead + products.cast * row.casts / gpu.memory_bandwidth;
}

}  // namespace pipewright::workload
