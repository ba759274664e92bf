#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/names.hpp"
#include "analysis/report/search/results.hpp"
#include "analysis/report/search/results_layout.hpp"
#include "analysis/report/search/rows.hpp"
#include "analysis/trace/hdf5.hpp"
#include "analysis/trace/partial_file.hpp"

namespace pipewright::analysis {
namespace {

using namespace results;
using trace::check;
using trace::checked;
using trace::Handle;

void write_attributes(hid_t file, const SearchRun& run) {
  trace::write_text(file, "format", fmt::format("pipewright-{}", results_kind));
  trace::write_number(file, "version", version);
  trace::write_text(file, "title", run.title);
  trace::write_text(file, "sweep", run.sweep);
  const Objective& objective = run.objective;
  trace::write_text(file, "objective",
                    objective_names.at(static_cast<std::size_t>(objective.kind)));
  for (const auto& field : objective_fields)
    trace::write_number(file, field.name, objective.*field.member);
  trace::write_text(file, "currency", objective.currency);
  trace::write_number(file, "floor_in_samples", std::uint32_t{objective.floor_in_samples});
  if (objective.kind == Objective::Kind::tokens_a_day)
    trace::write_number(file, "seeds", objective.seeds);
  trace::write_number(file, "combinations", run.combinations);
  trace::write_number(file, "exhaustive", std::uint32_t{run.exhaustive});
  trace::write_number(file, "fronts", std::uint32_t{run.fronts});
  trace::write_number(file, "shard", run.shard.number);
  trace::write_number(file, "shards", run.shard.count);
  trace::write_number(file, "finished", std::uint32_t{run.finished});
  trace::write_number(file, "gap", run.gap);
}

template <class Row, std::size_t Count>
void write_small(hid_t file, const char* name, const std::array<trace::Column, Count>& columns,
                 const std::vector<Row>& rows) {
  const trace::TextRows packed(columns, rows.data(), sizeof(Row), rows.size());
  trace::write_dataset(file, name, packed.type(), rows.size(), packed.bytes().data());
}

void write_space(hid_t file, const SearchRun& run) {
  std::vector<GroupRow> groups;
  for (const std::string& name : run.groups) groups.push_back({name});
  std::vector<AxisRow> axes;
  std::vector<ValueRow> values;
  for (const SearchAxis& axis : run.axes) {
    for (const std::string& value : axis.values)
      values.push_back({static_cast<std::uint32_t>(axes.size()), value});
    axes.push_back({axis.key, axis.name, static_cast<std::uint32_t>(axis.values.size())});
  }
  write_small(file, "groups", group_columns, groups);
  write_small(file, "axes", axis_columns, axes);
  write_small(file, "axis_values", value_columns, values);
  write_small(file, "excluded", excluded_columns, run.excluded);
}

// Writes a dataset in chunks. fill(row index, bytes of the row) writes each row.
template <class Fill>
void write_rows(hid_t file, const char* name, const Handle& type, hsize_t rows, const Fill& fill) {
  const Handle space = checked(H5Screate_simple(1, &rows, nullptr), H5Sclose);
  const hsize_t chunk = std::clamp<hsize_t>(rows, 1, trace::chunk_rows);
  const Handle properties = trace::chunk_properties(chunk);
  Handle dataset = checked(
      H5Dcreate2(file, name, type.get(), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose);
  const std::size_t row_bytes = H5Tget_size(type.get());
  std::vector<char> bytes(chunk * row_bytes);
  for (hsize_t first = 0; first < rows; first += chunk) {
    const hsize_t count = std::min(chunk, rows - first);
    std::fill(bytes.begin(), bytes.end(), '\0');
    for (hsize_t i = 0; i < count; ++i) fill(first + i, bytes.data() + i * row_bytes);
    const Handle piece = checked(H5Screate_simple(1, &count, nullptr), H5Sclose);
    check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr));
    check(H5Dwrite(dataset.get(), type.get(), piece.get(), space.get(), H5P_DEFAULT, bytes.data()));
  }
  trace::close(dataset);
}

// Collects each different note once, with the empty note first, and for each row the index of its
// note.
struct Notes {
  explicit Notes(const std::vector<CandidateRow>& rows) {
    std::unordered_map<std::string_view, std::uint32_t> indices{{"", 0}};
    for (const CandidateRow& row : rows) {
      const std::string_view note = std::string_view(row.note).substr(0, max_note_bytes);
      const auto [entry, is_new] =
          indices.try_emplace(note, static_cast<std::uint32_t>(texts.size()));
      if (is_new) texts.push_back(note);
      max_bytes = std::max(max_bytes, note.size());
      index_of_row.push_back(entry->second);
    }
  }
  std::vector<std::string_view> texts{""};
  std::vector<std::uint32_t> index_of_row;
  std::size_t max_bytes = 1;
};

EvidenceRow row_of(const trace::Evidence& evidence) {
  const trace::ExpectedError& error = evidence.expected_error;
  return {evidence.gpu,  trace::joined_keys(evidence),
          error.low,     error.high,
          error.nominal, error.median,
          error.scatter, error.basis,
          error.rows};
}

// Collects each different evidence once, with the empty one first, and for each row the index of
// its evidence.
struct EvidenceRows {
  explicit EvidenceRows(const std::vector<CandidateRow>& rows) {
    std::map<trace::Evidence, std::uint32_t> indices{{{}, 0}};
    for (const CandidateRow& row : rows) {
      const auto [entry, is_new] =
          indices.try_emplace(row.evidence, static_cast<std::uint32_t>(table.size()));
      if (is_new) table.push_back(row_of(row.evidence));
      index_of_row.push_back(entry->second);
    }
  }
  std::vector<EvidenceRow> table{{}};
  std::vector<std::uint32_t> index_of_row;
};

// Writes values to memory, one right behind the other.
class Cursor {
 public:
  explicit Cursor(char* begin) : position_(begin) {}
  template <class Value>
  void put(const Value& value) {
    std::memcpy(position_, &value, sizeof value);
    position_ += sizeof value;
  }

 private:
  char* position_;
};

void write_candidates(hid_t file, const SearchRun& run) {
  const Notes notes(run.rows);
  const EvidenceRows evidence(run.rows);
  const std::vector<AxisColumn> columns = axis_columns_of(run.axes);
  Layout layout;
  add_fixed(layout);
  add_axes(layout, run.axes, columns);
  write_rows(file, "candidates", layout.type(), run.rows.size(), [&](hsize_t i, char* bytes) {
    const CandidateRow& row = run.rows[i];
    Cursor cursor(bytes);
    cursor.put(row.candidate);
    cursor.put(row.group);
    cursor.put(row.outcome);
    cursor.put(notes.index_of_row[i]);
    cursor.put(evidence.index_of_row[i]);
    for (const CandidateFigure& figure : candidate_figures)
      visit_figure(row, figure, [&](const auto& value) { cursor.put(value); });
    const std::vector<std::uint32_t> digits = choices(run.axes, row.candidate);
    for (std::size_t axis = 0; axis < digits.size(); ++axis) {
      if (columns[axis].form == AxisColumn::Form::numbers)
        cursor.put(columns[axis].numbers[digits[axis]]);
      else if (columns[axis].form == AxisColumn::Form::names)
        cursor.put(static_cast<std::uint16_t>(digits[axis]));
      else
        cursor.put(digits[axis]);
    }
  });
  write_small(file, evidence_table, evidence_columns, evidence.table);
  write_rows(file, "notes", trace::text_type(notes.max_bytes), notes.texts.size(),
             [&](hsize_t i, char* bytes) {
               std::copy(notes.texts[i].begin(), notes.texts[i].end(), bytes);
             });
}

}  // namespace

void write_results(const std::filesystem::path& path, const SearchRun& run) {
  if (!std::ranges::is_sorted(run.rows, std::ranges::less_equal{}, &CandidateRow::candidate))
    throw std::logic_error("rows of a search out of order or duplicate");
  trace::PartialFile partial(path);
  trace::write_guarded(path, [&] {
    Handle file = trace::create_file(partial.temporary());
    write_attributes(file.get(), run);
    write_space(file.get(), run);
    write_candidates(file.get(), run);
    check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL));
    trace::close(file);
  });
  partial.commit();
}

}  // namespace pipewright::analysis
