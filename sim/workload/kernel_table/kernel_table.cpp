#include "sim/workload/kernel_table/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/workload/compute/efficiency.hpp"
#include "sim/workload/kernel_table/experts_row.hpp"

namespace pipewright::workload {
namespace {

using config::DataType;
using config::Error;

constexpr std::array<std::string_view, 8> kinds{"product",   "grouped", "experts", "cast",
                                                "attention", "memory",  "launch",  "all-reduce"};
constexpr std::array<std::string_view, 22> known_columns{
    "kernel",   "dtype",    "m",      "n",       "k",      "count",  "bytes", "tokens",
    "hidden",   "inter",    "topk",   "experts", "moe_ep", "gated",  "batch", "heads",
    "head_dim", "sequence", "causal", "pass",    "cast",   "time_us"};

std::vector<std::string> cells_of(const std::string& line) {
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

// A line of the table, by the names of its columns.
class Line {
 public:
  Line(std::string place, const std::vector<std::string>& columns,
       const std::vector<std::string>& cells)
      : place_(std::move(place)) {
    if (cells.size() > columns.size())
      fail(fmt::format("{} cells under {} columns", cells.size(), columns.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) cells_[columns[i]] = cells[i];
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(fmt::format("{}: {}", place_, message));
  }
  std::string text(const std::string& column) const {
    const auto cell = cells_.find(column);
    return cell == cells_.end() ? "" : cell->second;
  }
  bool has(const std::string& column) const { return !text(column).empty(); }

  // A number above zero.
  double number(const std::string& column) const {
    const std::string words = text(column);
    if (words.empty())
      fail(fmt::format("{} is missing{}", column, has_kinds() ? "" : without_kinds));
    double value = 0;
    const auto [end, fault] = std::from_chars(words.data(), words.data() + words.size(), value);
    if (fault != std::errc() || end != words.data() + words.size() || !std::isfinite(value) ||
        value <= 0)
      fail(
          fmt::format("{} is {}; allowed: a number above 0", column, config::describe_text(words)));
    return value;
  }
  double whole(const std::string& column) const {
    const double value = number(column);
    if (value != std::floor(value))
      fail(fmt::format("{} is {}; allowed: a whole number", column, text(column)));
    return value;
  }
  double number_or(const std::string& column, double otherwise) const {
    return has(column) ? number(column) : otherwise;
  }
  bool flag(const std::string& column, bool otherwise) const {
    const std::string words = text(column);
    if (words.empty()) return otherwise;
    if (words == "1" || words == "true") return true;
    if (words != "0" && words != "false")
      fail(fmt::format("{} is {}; allowed: 0 or 1", column, config::describe_text(words)));
    return false;
  }
  std::size_t choice(const std::string& column, std::span<const std::string_view> names) const {
    const std::string words = text(column);
    const auto name = std::ranges::find(names, words);
    if (words.empty() && !has_kinds()) fail(fmt::format("{} is missing{}", column, without_kinds));
    if (name == names.end())
      fail(fmt::format("{} is {}{}allowed: {}", column, config::describe_text(words),
                       config::did_you_mean(words, names), fmt::join(names, ", ")));
    return static_cast<std::size_t>(name - names.begin());
  }

 private:
  static constexpr std::string_view without_kinds =
      ": all rows are products, unless a column kernel says what else they are";
  bool has_kinds() const { return cells_.contains("kernel"); }

  std::string place_;
  std::map<std::string, std::string> cells_;
};

// Also as PyTorch and TensorRT-LLM write them.
DataType read_type(const Line& line) {
  const std::string words = line.text("dtype");
  if (words == "bfloat16") return DataType::bf16;
  if (words == "float16") return DataType::fp16;
  if (words == "fp8_block") return DataType::fp8_block;
  return static_cast<DataType>(line.choice("dtype", config::data_types));
}

MeasuredKernel read_product(const Line& line, Measured kind) {
  MeasuredKernel row;
  Kernel& kernel = row.kernel;
  kernel.type = read_type(line);
  kernel.rows = line.whole("m");
  kernel.inner = line.whole("k");
  const bool is_scaled = config::is_scaled(kernel.type);
  if (kind == Measured::cast) {
    if (!is_scaled) line.fail("nothing is cast to 16 bits or more; allowed: fp8, nvfp4, ...");
    row.casts = kernel.rows * kernel.inner;
    row.words = fmt::format("{} x {}", kernel.rows, kernel.inner);
    return row;
  }
  kernel.work = kind == Measured::grouped ? Kernel::Work::grouped : Kernel::Work::product;
  kernel.columns = line.whole("n");
  kernel.count = kind == Measured::grouped ? line.whole("count") : 1;
  kernel.flops = 2 * kernel.rows * kernel.columns * kernel.inner * kernel.count;
  kernel.bytes = kernel.count * (config::element_bytes(kernel.type) * kernel.inner *
                                     (kernel.rows + kernel.columns) +
                                 2 * kernel.rows * kernel.columns);
  if (is_scaled && line.flag("cast", !line.has("kernel")))
    row.casts = kernel.count * kernel.rows * kernel.inner;
  row.words = fmt::format("{} x {} x {}", kernel.rows, kernel.columns, kernel.inner);
  if (kind == Measured::grouped) row.words = fmt::format("{} of {}", kernel.count, row.words);
  return row;
}

MeasuredKernel read_experts(const Line& line) {
  const ExpertsTiming timing{.type = read_type(line),
                             .tokens = line.whole("tokens"),
                             .hidden = line.whole("hidden"),
                             .inter = line.whole("inter"),
                             .top_k = line.whole("topk"),
                             .experts = line.whole("experts"),
                             .ep = line.number_or("moe_ep", 1),
                             .gated = line.flag("gated", true)};
  if (timing.ep > timing.experts)
    line.fail(
        fmt::format("moe_ep is {}; allowed: at most the {} experts", timing.ep, timing.experts));
  return experts_row(timing);
}

MeasuredKernel read_attention(const Line& line) {
  constexpr std::array<std::string_view, 2> passes{"forward", "backward"};
  const double sequence = line.whole("sequence");
  const double heads = line.whole("heads");
  const double size = line.whole("head_dim");
  const bool causal = line.flag("causal", true);
  MeasuredKernel row;
  row.kernel.work = Kernel::Work::attention;
  row.kernel.type = line.has("dtype") ? read_type(line) : DataType::bf16;
  row.kernel.backward = line.choice("pass", passes) == 1;
  row.kernel.keys = sequence;
  row.kernel.head = size;
  // Two products forward, five backward, which makes the scores again.
  row.kernel.flops = (row.kernel.backward ? 10 : 4) * line.number_or("batch", 1) * heads * size *
                     sequence * sequence * (causal ? 0.5 : 1);
  row.words =
      fmt::format("{} tokens, {} heads of {}{}", sequence, heads, size, causal ? ", causal" : "");
  return row;
}

MeasuredKernel read_row(const Line& line) {
  const Measured kind =
      line.has("kernel") ? static_cast<Measured>(line.choice("kernel", kinds)) : Measured::product;
  MeasuredKernel row;
  switch (kind) {
    case Measured::product:
    case Measured::grouped:
    case Measured::cast:
      row = read_product(line, kind);
      break;
    case Measured::experts:
      row = read_experts(line);
      break;
    case Measured::attention:
      row = read_attention(line);
      break;
    case Measured::memory:
      row.kernel.bytes = line.number("bytes");
      row.words = fmt::format("{:.4g} MB", row.kernel.bytes / 1e6);
      break;
    case Measured::launch:
    case Measured::all_reduce:
      break;
  }
  row.kind = kind;
  row.seconds = line.number("time_us") * 1e-6;
  return row;
}

void check_columns(const std::string& place, const std::vector<std::string>& columns) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(columns, name) != columns.end();
  };
  const auto need = [&](std::string_view name) {
    if (!has(name))
      throw Error(
          fmt::format("{}: no column {}; the table has {}; allowed: {}, of which a kind of "
                      "kernel needs some",
                      place, name, fmt::join(columns, ", "), fmt::join(known_columns, ", ")));
  };
  // A column that is nearly called as one that there is not.
  for (const std::string& column : columns) {
    std::vector<std::string_view> absent;
    std::ranges::copy_if(known_columns, std::back_inserter(absent),
                         [&](std::string_view name) { return !has(name); });
    const std::string meant = config::did_you_mean(column, absent);
    if (std::ranges::find(known_columns, column) == known_columns.end() && meant != "; ")
      throw Error(fmt::format("{}: no kernel has a column {}{}", place, config::in_quotes(column),
                              meant.substr(0, meant.find_last_not_of(' ') + 1)));
  }
  need("time_us");
  if (has("kernel")) return;
  for (const std::string_view name : {"dtype", "m", "n", "k"}) need(name);
}

}  // namespace

bool is_of_gpu_file(const MeasuredKernel& row) {
  return row.kind != Measured::all_reduce && row.kind != Measured::launch;
}

std::string group_of(const MeasuredKernel& row) {
  const std::string_view kind = kinds[static_cast<std::size_t>(row.kind)];
  switch (row.kind) {
    case Measured::product:
    case Measured::grouped:
    case Measured::experts:
    case Measured::cast:
      return fmt::format("{} {}", kind, config::name_of(row.kernel.type));
    case Measured::attention:
      return fmt::format("{} {}", kind, row.kernel.backward ? "backward" : "forward");
    default:
      return std::string(kind);
  }
}

KernelTable read_kernel_table(const std::filesystem::path& file,
                              const std::optional<std::string>& system) {
  std::ifstream stream(file);
  if (!stream) throw Error(fmt::format("{}: cannot be read", file.string()));
  KernelTable table{file.string(), {}};
  std::vector<std::string> columns;
  std::set<std::string> systems;
  std::string text;
  for (std::size_t number = 1; std::getline(stream, text); ++number) {
    if (text.empty() || text == "\r" || text.front() == '#') continue;
    const std::string place = fmt::format("{}:{}", table.file, number);
    if (columns.empty()) {
      columns = cells_of(text);
      check_columns(place, columns);
      continue;
    }
    const Line line(place, columns, cells_of(text));
    systems.insert(line.text("system"));
    if (system && line.text("system") != *system) continue;
    table.rows.push_back(read_row(line));
    table.rows.back().line = number;
  }
  if (columns.empty()) throw Error(fmt::format("{}: no line of column names", table.file));
  const bool has_systems = std::ranges::find(columns, "system") != columns.end();
  if (system && !has_systems)
    throw Error(fmt::format("{}: no column system, which --system {} picks rows by; leave it out",
                            table.file, *system));
  if (system ? !systems.contains(*system) : systems.size() > 1)
    throw Error(
        fmt::format("{}: rows of {}; pick one by --system", table.file, fmt::join(systems, ", ")));
  if (table.rows.empty()) throw Error(fmt::format("{}: no rows", table.file));
  return table;
}

double predicted_seconds(const MeasuredKernel& row, const config::Gpu& gpu) {
  const config::Gpu alone = config::at_full_clock(gpu);
  double seconds = row.kind == Measured::cast ? 0 : kernel_time(row.kernel, alone).seconds;
  for (const Kernel& other : row.others) seconds += kernel_time(other, alone).seconds;
  if (row.casts == 0) return seconds;
  const config::Products& products = products_of(gpu, row.kernel.type);
  if (row.kernel.work == Kernel::Work::grouped && products.grouped)
    return seconds + products.grouped->cast * row.casts / gpu.memory_bandwidth;
  return seconds + products.cast_overhead + products.cast * row.casts / gpu.memory_bandwidth;
}

}  // namespace pipewright::workload
