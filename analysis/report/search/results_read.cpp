#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/names.hpp"
#include "analysis/report/search/results.hpp"
#include "analysis/report/search/results_layout.hpp"
#include "analysis/trace/hdf5.hpp"

namespace pipewright::analysis {
namespace {

using namespace results;
using trace::Handle;

bool read_flag(const trace::Hdf5Input& file, const char* name) {
  const auto value = file.number<std::uint32_t>(name);
  if (value > 1) file.fail("attribute '{}' is {}; allowed: 0 or 1", name, value);
  return value == 1;
}

// Reads a floating-point attribute, which must not be negative.
double read_quantity(const trace::Hdf5Input& file, const char* name, bool may_be_infinite = false) {
  const auto value = file.number<double>(name);
  if (!(value >= 0) || (std::isinf(value) && !may_be_infinite))
    file.fail("attribute '{}' is {}, which is not a valid quantity", name, value);
  return value;
}

Objective read_objective(const trace::Hdf5Input& file) {
  Objective objective;
  const std::string name = file.text("objective");
  const auto* const match = std::ranges::find(objective_names, name);
  if (match == objective_names.end())
    file.fail("attribute 'objective' is '{}', which this program does not know", name);
  objective.kind = static_cast<Objective::Kind>(match - objective_names.begin());
  for (const auto& field : objective_fields)
    objective.*field.member = read_quantity(file, field.name);
  objective.currency = file.text("currency");
  objective.floor_in_samples = read_flag(file, "floor_in_samples");
  if (objective.kind == Objective::Kind::tokens_a_day)
    objective.seeds = file.number<std::uint32_t>("seeds");
  return objective;
}

ShardNumber read_shard(const trace::Hdf5Input& file) {
  const ShardNumber shard{file.number<std::uint32_t>("shard"),
                          file.number<std::uint32_t>("shards")};
  if (shard.number == 0 || shard.number > shard.count)
    file.fail("attribute 'shard' is {} of {}, which is not a valid shard", shard.number,
              shard.count);
  return shard;
}

void read_attributes(const trace::Hdf5Input& file, SearchRun& run) {
  run.title = file.text("title");
  run.sweep = file.text("sweep");
  run.objective = read_objective(file);
  run.combinations = read_quantity(file, "combinations");
  run.exhaustive = read_flag(file, "exhaustive");
  // These attributes are optional, since files of older versions lack them.
  if (file.has_attribute("fronts")) run.fronts = read_flag(file, "fronts");
  if (file.has_attribute("shards")) run.shard = read_shard(file);
  run.finished = read_flag(file, "finished");
  run.gap = read_quantity(file, "gap", true);
}

void read_space(const trace::Hdf5Input& file, SearchRun& run) {
  for (GroupRow& row : file.small_table<GroupRow>("groups", group_columns))
    run.groups.push_back(std::move(row.name));
  std::vector<ValueRow> values = file.small_table<ValueRow>("axis_values", value_columns);
  std::size_t next = 0;
  for (AxisRow& row : file.small_table<AxisRow>("axes", axis_columns)) {
    SearchAxis axis{std::move(row.key), std::move(row.name), {}};
    for (; next < values.size() && values[next].axis == run.axes.size(); ++next)
      axis.values.push_back(std::move(values[next].value));
    if (axis.values.empty() || axis.values.size() != row.values)
      file.fail("axes[{}].values is {}, but table 'axis_values' has {} values of the axis",
                run.axes.size(), row.values, axis.values.size());
    run.axes.push_back(std::move(axis));
  }
  if (next != values.size())
    file.fail("axis_values[{}].axis is {}, which is out of order", next, values[next].axis);
  run.excluded = file.small_table<Excluded>("excluded", excluded_columns);
}

// Calls visit(row index, bytes of the row) for each row of a table. `type` is the type in memory.
template <class Visit>
void for_each_results_row(const trace::Hdf5Input& file, const char* table, const Handle& type,
                          const Visit& visit) {
  const Handle dataset = file.dataset(table);
  const Handle stored(H5Dget_space(dataset.get()), H5Sclose);
  const hsize_t total = file.rows(dataset, table);
  const std::size_t row_bytes = H5Tget_size(type.get());
  std::vector<char> bytes(std::min<hsize_t>(total, trace::chunk_rows) * row_bytes);
  for (hsize_t first = 0; first < total; first += trace::chunk_rows) {
    const hsize_t count = std::min<hsize_t>(trace::chunk_rows, total - first);
    const Handle piece(H5Screate_simple(1, &count, nullptr), H5Sclose);
    H5Sselect_hyperslab(stored.get(), H5S_SELECT_SET, &first, nullptr, &count, nullptr);
    if (H5Dread(dataset.get(), type.get(), piece.get(), stored.get(), H5P_DEFAULT, bytes.data()) <
        0)
      file.fail("table '{}' is damaged at row {} or later: {}", table, first,
                trace::last_failure());
    for (hsize_t i = 0; i < count; ++i) visit(first + i, bytes.data() + i * row_bytes);
  }
}

std::vector<std::string> read_notes(const trace::Hdf5Input& file) {
  const Handle dataset = file.dataset("notes");
  const Handle type(H5Dget_type(dataset.get()), H5Tclose);
  const std::size_t size = H5Tget_size(type.get());
  if (!trace::is_fixed_text(type) || size > max_note_bytes)
    file.fail("table 'notes' has no texts of at most {} bytes", max_note_bytes);
  std::vector<std::string> notes;
  for_each_results_row(file, "notes", type, [&](hsize_t, const char* bytes) {
    std::string_view text(bytes, size);
    notes.emplace_back(text.substr(0, text.find_last_not_of('\0') + 1));
  });
  return notes;
}

// Reads the table of what candidates rest on. Returns no rows for files of older versions, which
// lack it; a table of an older version may lack columns.
std::vector<trace::Evidence> read_evidence_table(const trace::Hdf5Input& file) {
  if (!file.has(evidence_table)) return {};
  const Handle stored(H5Dget_type(file.dataset(evidence_table).get()), H5Tclose);
  const bool is_old = H5Tget_member_index(stored.get(), "basis") < 0;
  const std::span<const trace::Column> columns(evidence_columns);
  const auto rows = file.small_table<EvidenceRow>(
      evidence_table, is_old ? columns.first(first_evidence_columns) : columns);
  if (rows.empty()) file.fail("table '{}' is empty; its first row must be there", evidence_table);
  std::vector<trace::Evidence> evidence;
  for (const EvidenceRow& row : rows)
    evidence.push_back(
        {row.gpu,
         trace::split_keys(row.keys),
         {row.low, row.high, row.nominal, row.median, row.scatter, row.basis, row.rows}});
  return evidence;
}

// Returns the number of combinations of the values of all axes, at most UINT64_MAX.
std::uint64_t count_candidates(const std::vector<SearchAxis>& axes) {
  std::uint64_t count = 1;
  for (const SearchAxis& axis : axes)
    if (__builtin_mul_overflow(count, axis.values.size(), &count)) return UINT64_MAX;
  return count;
}

template <class Value>
Value value_at(const char* bytes, std::size_t offset) {
  Value value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

void check_figures(const trace::Hdf5Input& file, const CandidateRow& row, hsize_t index) {
  for (const CandidateFigure& figure : candidate_figures)
    visit_figure(row, figure, [&](auto value) {
      if constexpr (std::is_floating_point_v<decltype(value)>)
        if (!std::isfinite(value))
          file.fail("candidates[{}].{} is {}, which is not finite", index, figure.key, value);
    });
  if (row.outcome == Outcome::simulated && row.time_s <= 0)
    file.fail(
        "candidates[{}].time_s is {}; expected a time above 0, as the candidate was simulated",
        index, row.time_s);
}

void read_candidates(const trace::Hdf5Input& file, SearchRun& run) {
  const std::vector<std::string> notes = read_notes(file);
  const std::uint64_t candidates = count_candidates(run.axes);
  const std::vector<trace::Evidence> evidence = read_evidence_table(file);
  Layout layout;
  const Handle stored(H5Dget_type(file.dataset("candidates").get()), H5Tclose);
  MissingColumns missing{.evidence = evidence.empty(), .figures = {}};
  for (std::size_t k = 0; k < candidate_figures.size(); ++k)
    missing.figures[k] = candidate_figures[k].is_new &&
                         H5Tget_member_index(stored.get(), candidate_figures[k].key) < 0;
  const FixedColumns columns = add_fixed(layout, missing);
  for (const Layout::Field& field : layout.fields())
    if (H5Tequal(file.column(stored, "candidates", field.name.c_str()).get(), field.type.get()) <=
        0)
      file.fail("column '{}' of table 'candidates' is not of its type in format version {}",
                field.name, version);
  for_each_results_row(file, "candidates", layout.type(), [&](hsize_t i, const char* bytes) {
    CandidateRow row;
    row.candidate = value_at<std::uint64_t>(bytes, columns.candidate);
    row.group = value_at<std::uint32_t>(bytes, columns.group);
    const auto outcome = value_at<std::uint8_t>(bytes, columns.outcome);
    const auto note = value_at<std::uint32_t>(bytes, columns.note);
    if (row.candidate >= candidates)
      file.fail("candidates[{}].candidate is {}; the axes have {} combinations", i, row.candidate,
                candidates);
    if (!run.rows.empty() && row.candidate <= run.rows.back().candidate)
      file.fail(
          "candidates[{}].candidate is {}; expected a number above {}, that of the row before", i,
          row.candidate, run.rows.back().candidate);
    if (row.group >= run.groups.size())
      file.fail("candidates[{}].group is {}; the file has {} groups", i, row.group,
                run.groups.size());
    if (outcome >= outcome_names.size())
      file.fail("candidates[{}].outcome is {}, which is not an outcome", i, outcome);
    if (note >= notes.size())
      file.fail("candidates[{}].note is {}; the file has {} notes", i, note, notes.size());
    row.outcome = static_cast<Outcome>(outcome);
    row.note = notes[note];
    if (columns.evidence) {
      const auto index = value_at<std::uint32_t>(bytes, *columns.evidence);
      if (index >= evidence.size())
        file.fail("candidates[{}].assumed is {}; the table has {} rows", i, index, evidence.size());
      row.evidence = evidence[index];
    }
    for (std::size_t k = 0; k < candidate_figures.size(); ++k)
      if (const auto offset = columns.figures[k])
        visit_figure(row, candidate_figures[k], [&](auto& value) {
          value = value_at<std::remove_reference_t<decltype(value)>>(bytes, *offset);
        });
    check_figures(file, row, i);
    run.rows.push_back(std::move(row));
  });
}

}  // namespace

SearchRun read_results(const std::filesystem::path& path) {
  const trace::QuietHdf5 quiet;
  const trace::Hdf5Input file(path, results_kind, version);
  SearchRun run;
  read_attributes(file, run);
  read_space(file, run);
  read_candidates(file, run);
  return run;
}

}  // namespace pipewright::analysis
