#include "analysis/report/search/results.hpp"

#include <functional>

#include <catch2/catch.hpp>
#include <hdf5.h>

#include "analysis/report/search/candidate_figures.hpp"
#include "analysis/report/search/search_runs.hpp"
#include "analysis/trace/error.hpp"
#include "support/paths.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using namespace pipewright::analysis;
using namespace pipewright::tests;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using test::ScratchFolder;

namespace {

void check_same(const SearchRun& a, const SearchRun& b) {
  CHECK(a.title == b.title);
  CHECK(a.sweep == b.sweep);
  CHECK(a.groups == b.groups);
  REQUIRE(a.axes.size() == b.axes.size());
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    CHECK(a.axes[i].key == b.axes[i].key);
    CHECK(a.axes[i].name == b.axes[i].name);
    CHECK(a.axes[i].values == b.axes[i].values);
  }
  CHECK(a.objective.kind == b.objective.kind);
  CHECK(a.objective.tokens == b.objective.tokens);
  CHECK(a.objective.price_per_gpu_hour == b.objective.price_per_gpu_hour);
  CHECK(a.objective.currency == b.objective.currency);
  CHECK(a.objective.floor == b.objective.floor);
  CHECK(a.objective.seeds == b.objective.seeds);
  CHECK(a.objective.floor_in_samples == b.objective.floor_in_samples);
  CHECK(a.combinations == b.combinations);
  CHECK(a.exhaustive == b.exhaustive);
  CHECK(a.shard.number == b.shard.number);
  CHECK(a.shard.count == b.shard.count);
  CHECK(a.fronts == b.fronts);
  CHECK(a.finished == b.finished);
  CHECK(a.gap == b.gap);
  REQUIRE(a.excluded.size() == b.excluded.size());
  for (std::size_t i = 0; i < a.excluded.size(); ++i) {
    CHECK(a.excluded[i].rule == b.excluded[i].rule);
    CHECK(a.excluded[i].combinations == b.excluded[i].combinations);
  }
  REQUIRE(a.rows.size() == b.rows.size());
  for (std::size_t i = 0; i < a.rows.size(); ++i) CHECK(same(a.rows[i], b.rows[i]));
}

SearchRun written_and_read(const SearchRun& run) {
  const ScratchFolder folder;
  write_results(folder / "r.h5", run);
  CHECK(folder.entries() == 1);
  return read_results(folder / "r.h5");
}

// Writes a valid file of results, modifies it with HDF5, and checks that reading it fails with an
// error that contains `text`.
void check_error(const std::function<void(hid_t)>& change, const std::string& text) {
  const ScratchFolder folder;
  const auto path = folder / "r.h5";
  write_results(path, sample_search(1));
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  REQUIRE(file >= 0);
  change(file);
  REQUIRE(H5Fclose(file) >= 0);
  CHECK_THROWS_WITH(read_results(path), StartsWith(path.string() + ": ") && Contains(text));
}

template <class Value>
void set_value(hid_t file, const char* column, hsize_t row, hid_t type, Value value) {
  const hid_t data = H5Dopen2(file, "candidates", H5P_DEFAULT);
  const hid_t one = H5Tcreate(H5T_COMPOUND, sizeof value);
  H5Tinsert(one, column, 0, type);
  const hid_t rows = H5Dget_space(data);
  H5Sselect_elements(rows, H5S_SELECT_SET, 1, &row);
  const hid_t single = H5Screate(H5S_SCALAR);
  REQUIRE(H5Dwrite(data, one, single, rows, H5P_DEFAULT, &value) >= 0);
  H5Sclose(single);
  H5Sclose(rows);
  H5Tclose(one);
  H5Dclose(data);
}

// Replaces a table of an HDF5 file by a copy without one of its columns.
void leave_out_column(hid_t file, const char* table, const std::string& column) {
  const hid_t old = H5Dopen2(file, table, H5P_DEFAULT);
  const hid_t type = H5Dget_type(old);
  const hid_t space = H5Dget_space(old);
  const hid_t properties = H5Dget_create_plist(old);
  const hid_t less = H5Tcreate(H5T_COMPOUND, H5Tget_size(type));
  for (unsigned i = 0; i < static_cast<unsigned>(H5Tget_nmembers(type)); ++i) {
    char* const name = H5Tget_member_name(type, i);
    const hid_t member = H5Tget_member_type(type, i);
    if (name != column) H5Tinsert(less, name, H5Tget_member_offset(type, i), member);
    H5Tclose(member);
    H5free_memory(name);
  }
  std::vector<char> bytes(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) *
                          H5Tget_size(less));
  REQUIRE(H5Dread(old, less, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
  H5Dclose(old);
  H5Ldelete(file, table, H5P_DEFAULT);
  const hid_t made = H5Dcreate2(file, table, less, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  REQUIRE(H5Dwrite(made, less, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0);
  H5Dclose(made);
  for (const hid_t one : {type, less}) H5Tclose(one);
  H5Sclose(space);
  H5Pclose(properties);
}

template <class Value>
void set_attribute(hid_t file, const char* name, hid_t type, Value value) {
  const hid_t id = H5Aopen(file, name, H5P_DEFAULT);
  REQUIRE(H5Awrite(id, type, &value) >= 0);
  H5Aclose(id);
}

}  // namespace

TEST_CASE("results of a search read back as they were written") {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    SearchRun run = sample_search(seed, 30 * seed + 1);
    check_same(run, written_and_read(run));
    run.objective = {.kind = static_cast<Objective::Kind>(seed),
                     .tokens = 2e12,
                     .price_per_gpu_hour = 2.5,
                     .currency = "\xe2\x82\xac",
                     .floor = 100,
                     .floor_in_samples = true};
    if (seed == 5) run.objective.seeds = 50;
    run.exhaustive = true;
    run.finished = false;
    run.gap = INFINITY;
    run.excluded.clear();
    check_same(run, written_and_read(run));
  }
}

TEST_CASE("results preserve any figures and notes") {
  SearchRun run;
  run.axes = {{"a", "a", std::vector<std::string>(1000, "x")}};
  run.groups = {"g"};
  for (std::uint32_t i = 0; i < 1000; ++i) {
    CandidateRow row = random_row(i);
    row.candidate = i;
    row.group = 0;
    if (row.outcome == Outcome::simulated) row.time_s = 1;
    while (!row.note.empty() && row.note.back() == '\0') row.note.pop_back();
    run.rows.push_back(row);
  }
  run.rows[3].note = std::string(max_note_bytes + 50, 'z');
  const SearchRun read = written_and_read(run);
  CHECK(read.rows[3].note == std::string(max_note_bytes, 'z'));
  run.rows[3].note = read.rows[3].note;
  check_same(run, read);
}

TEST_CASE("axes of any names and values can be written") {
  SearchRun run;
  run.groups = {"g"};
  run.axes = {{"a", "candidate", {"1", "-2"}},
              {"b", "candidate", {"", "x"}},
              {"c", "", {"same", "same"}},
              {"d", std::string("\0", 1), {"1.5", "007"}},
              {"e", "e", {}},
              {"f", std::string(500, 'n'), {std::string(100, 'v')}}};
  for (int i = 0; i < 3000; ++i) run.axes[4].values.push_back("value " + std::to_string(i));
  for (std::uint64_t i = 0; i < 3000; ++i) run.rows.push_back(simulated_row(16 * i, 1, 5));
  const SearchRun read = written_and_read(run);
  CHECK(read.axes[4].values == run.axes[4].values);
  CHECK(read.axes[2].values == run.axes[2].values);
  CHECK(read.rows.size() == 3000);
}

TEST_CASE("results that lack newer columns are read", "[search]") {
  const ScratchFolder folder;
  const auto path = folder / "r.h5";
  SearchRun run = sample_search(1);
  const auto set_new_figures = [&](int number) {
    for (CandidateRow& row : run.rows)
      for (const CandidateFigure& figure : candidate_figures)
        if (figure.is_new) visit_figure(row, figure, [&](auto& value) { value = number; });
  };
  set_new_figures(1);
  write_results(path, run);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "assumed", H5P_DEFAULT);
  leave_out_column(file, "candidates", "assumed");
  for (const CandidateFigure& figure : candidate_figures)
    if (figure.is_new) leave_out_column(file, "candidates", figure.key);
  REQUIRE(H5Fclose(file) >= 0);
  for (CandidateRow& row : run.rows) row.evidence = {};
  set_new_figures(0);
  check_same(run, read_results(path));
}

TEST_CASE("results state their shard and whether the search proves fronts") {
  SearchRun run = sample_search(2, 3);
  run.shard = {.number = 2, .count = 3};
  run.fronts = false;
  check_same(run, written_and_read(run));
  run.shard = {.number = 4, .count = 3};
  CHECK_THROWS_WITH(written_and_read(run),
                    Contains("attribute 'shard' is 4 of 3, which is not a valid shard"));
}

TEST_CASE("the same results give the same bytes") {
  const ScratchFolder folder;
  write_results(folder / "a.h5", sample_search(2));
  write_results(folder / "b.h5", sample_search(2));
  CHECK(test::bytes_of(folder / "a.h5") == test::bytes_of(folder / "b.h5"));
}

TEST_CASE("results refuse rows that are duplicate or out of order") {
  const ScratchFolder folder;
  SearchRun run = sample_search(1);
  std::swap(run.rows[3], run.rows[4]);
  CHECK_THROWS_AS(write_results(folder / "r.h5", run), std::logic_error);
  run.rows[3] = run.rows[4];
  CHECK_THROWS_AS(write_results(folder / "r.h5", run), std::logic_error);
  CHECK(folder.entries() == 0);
}

TEST_CASE("a fault of a results file is named with its place") {
  using C = std::uint64_t;
  check_error([](hid_t f) { set_value(f, "candidate", 2, H5T_NATIVE_UINT64, C{9999}); },
              "candidates[2].candidate is 9999; the axes have 360 combinations");
  check_error([](hid_t f) { set_value(f, "candidate", 2, H5T_NATIVE_UINT64, C{1}); },
              "candidates[2].candidate is 1; expected a number above 1, that of the row before");
  check_error([](hid_t f) { set_value(f, "group", 7, H5T_NATIVE_UINT32, 2U); },
              "candidates[7].group is 2; the file has 2 groups");
  check_error([](hid_t f) { set_value(f, "note", 7, H5T_NATIVE_UINT32, 77777U); },
              "candidates[7].note is 77777");
  check_error([](hid_t f) { set_value(f, "assumed", 7, H5T_NATIVE_UINT32, 9U); },
              "candidates[7].assumed is 9; the table has 3 rows");
  check_error([](hid_t f) { leave_out_column(f, "candidates", "assumed"); },
              "column 'assumed' of table 'candidates' is missing");
  check_error([](hid_t f) { set_value(f, "bound_s", 7, H5T_NATIVE_DOUBLE, double{NAN}); },
              "candidates[7].bound_s is nan");
  check_error([](hid_t f) { set_attribute(f, "version", H5T_NATIVE_UINT32, 4U); },
              "its search format has version 4; this program reads versions up to 3");
  check_error([](hid_t f) { set_attribute(f, "finished", H5T_NATIVE_UINT32, 2U); },
              "attribute 'finished' is 2");
  check_error([](hid_t f) { set_attribute(f, "gap", H5T_NATIVE_DOUBLE, -0.5); },
              "attribute 'gap' is -0.5");
  for (const char* table : {"groups", "axes", "axis_values", "excluded", "candidates", "notes"})
    check_error([&](hid_t f) { H5Ldelete(f, table, H5P_DEFAULT); },
                "table '" + std::string(table) + "' is missing");
  check_error([](hid_t f) { H5Adelete(f, "sweep"); }, "attribute 'sweep' is missing");
}

TEST_CASE("a damaged results file is an error or reads as written") {
  const ScratchFolder folder;
  write_results(folder / "good.h5", sample_search(3, 20));
  const std::string good = test::bytes_of(folder / "good.h5");
  int refused = 0;
  for (std::size_t at = 7; at < good.size(); at += good.size() / 150 + 1) {
    for (const bool cut : {false, true}) {
      std::string bad = cut ? good.substr(0, at) : good;
      if (!cut) bad[at] = static_cast<char>(bad[at] ^ 0x55);
      test::write_bytes(folder / "bad.h5", bad);
      try {
        read_results(folder / "bad.h5");
      } catch (const trace::TraceError&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 150);
}

TEST_CASE("other files are refused as results of a search") {
  const ScratchFolder folder;
  test::write_bytes(folder / "text", "hello");
  CHECK_THROWS_WITH(read_results(folder / "text"), Contains("expected a pipewright search"));
  test::write_trace(test::random_trace(1, 2, 10), folder / "trace.h5");
  CHECK_THROWS_WITH(read_results(folder / "trace.h5"), Contains("not a pipewright search"));
  CHECK_THROWS_WITH(read_results(folder / "none"), Contains("no such file"));
}

TEST_CASE("the example of the results' format page runs") {
  if (std::system("/usr/bin/python3 -c 'import h5py, pandas' 2>/dev/null") != 0) {
    WARN("python3 has no h5py or no pandas: skipped");
    return;
  }
  const ScratchFolder folder;
  SearchRun run = sample_search(4, 5);
  for (CandidateRow& row : run.rows) row.time_s *= row.outcome == Outcome::simulated ? 10 : 1;
  run.rows[7] = simulated_row(7, 1.25, 5);
  write_results(folder / "results.h5", run);
  const std::string page = test::bytes_of(PIPEWRIGHT_ROOT "/analysis/report/search/format.md");
  const std::string fence = "```python\n";
  const std::size_t from = page.find(fence) + fence.size();
  test::write_bytes(folder / "script.py", page.substr(from, page.find("```", from) - from));
  const std::string command =
      "cd " + folder.path().string() + " && /usr/bin/python3 script.py > out 2>&1";
  CHECK(std::system(command.c_str()) == 0);
  CHECK_THAT(test::bytes_of(folder / "out"),
             Contains("schedule") && Contains("zb-1p") && Contains("1.25"));
}
