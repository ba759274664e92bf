#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/trace/hdf5.hpp"

// Layout of results files in HDF5, which the writer and the reader share. format.md explains it.
namespace pipewright::analysis::results {

inline constexpr const char* results_kind = "search";
inline constexpr std::uint32_t version = 3;

// Name of the file attribute that stores a numeric setting of the objective.
template <class Value>
struct ObjectiveField {
  const char* name;
  Value Objective::*member;
};
inline constexpr std::array<ObjectiveField<double>, 3> objective_fields{
    {{"objective_tokens", &Objective::tokens},
     {"price_per_gpu_hour", &Objective::price_per_gpu_hour},
     {"throughput_floor", &Objective::floor}}};

// Small tables.
struct GroupRow {
  std::string name;
};
struct AxisRow {
  std::string key;
  std::string name;
  std::uint32_t values = 0;
};
struct ValueRow {
  std::uint32_t axis = 0;
  std::string value;
};
#define PIPEWRIGHT_COLUMN(Row, member) \
  trace::Column { #member, trace::column_type<decltype(Row::member)>(), offsetof(Row, member) }
// A row of the table of what candidates rest on; candidates refer to rows by index. The first row
// is empty.
struct EvidenceRow {
  std::string gpu;
  std::string keys;  // separated by blanks
  double low = 0;    // expected error
  double high = 0;
  double nominal = 0;
  double median = 0;
  double scatter = 0;
  std::string basis;
  std::uint64_t rows = 0;
};
inline constexpr const char* evidence_table = "assumed";
inline constexpr std::array evidence_columns{
    PIPEWRIGHT_COLUMN(EvidenceRow, gpu),     PIPEWRIGHT_COLUMN(EvidenceRow, keys),
    PIPEWRIGHT_COLUMN(EvidenceRow, low),     PIPEWRIGHT_COLUMN(EvidenceRow, high),
    PIPEWRIGHT_COLUMN(EvidenceRow, nominal), PIPEWRIGHT_COLUMN(EvidenceRow, median),
    PIPEWRIGHT_COLUMN(EvidenceRow, scatter), PIPEWRIGHT_COLUMN(EvidenceRow, basis),
    PIPEWRIGHT_COLUMN(EvidenceRow, rows)};
// Files of older versions have the first columns alone.
inline constexpr std::size_t first_evidence_columns = 2;
inline constexpr std::array group_columns{PIPEWRIGHT_COLUMN(GroupRow, name)};
inline constexpr std::array axis_columns{PIPEWRIGHT_COLUMN(AxisRow, key),
                                         PIPEWRIGHT_COLUMN(AxisRow, name),
                                         PIPEWRIGHT_COLUMN(AxisRow, values)};
inline constexpr std::array value_columns{PIPEWRIGHT_COLUMN(ValueRow, axis),
                                          PIPEWRIGHT_COLUMN(ValueRow, value)};
inline constexpr std::array excluded_columns{PIPEWRIGHT_COLUMN(Excluded, rule),
                                             PIPEWRIGHT_COLUMN(Excluded, combinations)};
#undef PIPEWRIGHT_COLUMN

// Names, types and offsets of a table's columns, which follow each other without gaps.
class Layout {
 public:
  struct Field {
    std::string name;
    std::size_t offset;
    trace::Handle type;
  };
  const Field& add(std::string name, trace::Handle type);
  bool has(const std::string& name) const;

  const std::vector<Field>& fields() const { return fields_; }
  std::size_t row_bytes() const { return row_bytes_; }
  trace::Handle type() const;  // compound type of a row

 private:
  std::vector<Field> fields_;
  std::size_t row_bytes_ = 0;
};

// The form in which the column of an axis stores a candidate's value on this axis.
struct AxisColumn {
  enum class Form {
    numbers,  // the values, if all are integers
    names,    // an enumeration
    indices,  // rows of table `axis_values`, for values that cannot be an HDF5 enumeration
  };
  Form form = Form::indices;
  std::vector<std::int64_t> numbers;
};
std::vector<AxisColumn> axis_columns_of(const std::vector<SearchAxis>& axes);

// Offsets of the columns of table `candidates` that do not depend on the axes. The figures come
// last, in the order of candidate_figures.
struct FixedColumns {
  std::size_t candidate, group, outcome, note;
  std::optional<std::size_t> evidence;
  std::array<std::optional<std::size_t>, candidate_figures.size()> figures;
};
// Columns that a file written by an older version lacks.
struct MissingColumns {
  bool evidence = false;
  std::bitset<candidate_figures.size()> figures;
};
FixedColumns add_fixed(Layout& layout, const MissingColumns& missing = {});
void add_axes(Layout& layout, const std::vector<SearchAxis>& axes,
              const std::vector<AxisColumn>& columns);

}  // namespace pipewright::analysis::results
