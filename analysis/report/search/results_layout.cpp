#include "analysis/report/search/results_layout.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/names.hpp"

namespace pipewright::analysis::results {
namespace {

using trace::ColumnType;
using trace::Handle;

// HDF5 limits the stored type of a table to 64 KiB, including the names of enumerations, each with
// an overhead. Values with more bytes of names are stored in a table of their own.
constexpr std::size_t max_name_bytes = 24 << 10;
constexpr std::size_t name_overhead = 12;
constexpr std::size_t max_column_name = 64;

std::optional<std::int64_t> parse_integer(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  // A number that is not written in the usual way, such as "007", is treated as a name.
  if (error != std::errc() || stop != end || fmt::to_string(value) != text) return std::nullopt;
  return value;
}

std::optional<std::vector<std::int64_t>> parse_integers(const std::vector<std::string>& values) {
  std::vector<std::int64_t> numbers;
  for (const std::string& text : values) {
    const auto value = parse_integer(text);
    if (!value) return std::nullopt;
    numbers.push_back(*value);
  }
  return numbers;
}

bool can_be_enum(const std::vector<std::string>& values) {
  const std::set<std::string> distinct(values.begin(), values.end());
  return distinct.size() == values.size() && values.size() <= UINT16_MAX &&
         std::ranges::none_of(
             values, [](auto& v) { return v.empty() || v.find('\0') != std::string::npos; });
}

template <class Number, class Names>
Handle enum_of(hid_t base, const Names& names) {
  Handle type(H5Tenum_create(base), H5Tclose);
  Number value = 0;
  for (const auto& name : names) {
    H5Tenum_insert(type.get(), std::string(name).c_str(), &value);
    ++value;
  }
  return type;
}

}  // namespace

const Layout::Field& Layout::add(std::string name, Handle type) {
  const std::size_t size = H5Tget_size(type.get());
  fields_.push_back({std::move(name), row_bytes_, std::move(type)});
  row_bytes_ += size;
  return fields_.back();
}

bool Layout::has(const std::string& name) const {
  return std::ranges::any_of(fields_, [&](const Field& field) { return field.name == name; });
}

Handle Layout::type() const {
  Handle row(H5Tcreate(H5T_COMPOUND, row_bytes_), H5Tclose);
  for (const Field& field : fields_)
    H5Tinsert(row.get(), field.name.c_str(), field.offset, field.type.get());
  return row;
}

std::vector<AxisColumn> axis_columns_of(const std::vector<SearchAxis>& axes) {
  std::vector<AxisColumn> columns;
  std::size_t bytes = 0;
  for (const SearchAxis& axis : axes) {
    AxisColumn& column = columns.emplace_back();
    if (auto numbers = parse_integers(axis.values)) {
      column = {AxisColumn::Form::numbers, std::move(*numbers)};
      continue;
    }
    std::size_t axis_bytes = 0;
    for (const std::string& value : axis.values) axis_bytes += value.size() + name_overhead;
    if (!can_be_enum(axis.values) || bytes + axis_bytes > max_name_bytes) continue;
    bytes += axis_bytes;
    column.form = AxisColumn::Form::names;
  }
  return columns;
}

FixedColumns add_fixed(Layout& layout, const MissingColumns& missing) {
  FixedColumns columns{};
  const auto add = [&](const char* name, Handle type) {
    return layout.add(name, std::move(type)).offset;
  };
  columns.candidate = add("candidate", trace::file_type(ColumnType::u64));
  columns.group = add("group", trace::file_type(ColumnType::u32));
  columns.outcome = add("outcome", enum_of<std::uint8_t>(H5T_STD_U8LE, outcome_names));
  columns.note = add("note", trace::file_type(ColumnType::u32));
  if (!missing.evidence) columns.evidence = add(evidence_table, trace::file_type(ColumnType::u32));
  for (std::size_t i = 0; i < candidate_figures.size(); ++i)
    if (!missing.figures[i])
      columns.figures[i] =
          add(candidate_figures[i].key, trace::file_type(candidate_figures[i].type()));
  return columns;
}

void add_axes(Layout& layout, const std::vector<SearchAxis>& axes,
              const std::vector<AxisColumn>& columns) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::string base = axes[i].name.substr(0, axes[i].name.find('\0'));
    if (base.empty() || base.size() > max_column_name) base = "axis";
    std::string name = base;
    for (int number = 2; layout.has(name); ++number) name = fmt::format("{}_{}", base, number);
    if (columns[i].form == AxisColumn::Form::names)
      layout.add(name, enum_of<std::uint16_t>(H5T_STD_U16LE, axes[i].values));
    else if (columns[i].form == AxisColumn::Form::numbers)
      layout.add(name, Handle(H5Tcopy(H5T_STD_I64LE), H5Tclose));
    else
      layout.add(name, trace::file_type(ColumnType::u32));
  }
}

}  // namespace pipewright::analysis::results
