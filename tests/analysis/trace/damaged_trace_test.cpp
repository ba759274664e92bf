#include <cmath>
#include <functional>
#include <vector>

#include <catch2/catch.hpp>
#include <hdf5.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;
using test::ScratchFolder;
using trace::read_trace;
using trace::TraceError;

namespace {

// Writes a valid trace and then lets `change` modify the file with HDF5 functions.
struct ChangedTrace {
  ScratchFolder folder;
  std::filesystem::path path = folder / "a.h5";
  explicit ChangedTrace(const std::function<void(hid_t)>& change) {
    test::write_trace(test::random_trace(1, 4, 100), path);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    REQUIRE(file >= 0);
    change(file);
    REQUIRE(H5Fclose(file) >= 0);
  }
};

void check_error(const std::function<void(hid_t)>& change, const std::string& text) {
  const ChangedTrace changed(change);
  CHECK_THROWS_WITH(read_trace(changed.path),
                    StartsWith(changed.path.string() + ": ") && Contains(text));
}

void set_number(hid_t file, const char* attribute, std::uint32_t value) {
  const hid_t id = H5Aopen(file, attribute, H5P_DEFAULT);
  REQUIRE(H5Awrite(id, H5T_NATIVE_UINT32, &value) >= 0);
  H5Aclose(id);
}

// Overwrites the value in one column and row of a table.
template <class Value>
void set_value(hid_t file, const char* table, const char* column, hsize_t row, hid_t type,
               Value value) {
  const hid_t data = H5Dopen2(file, table, H5P_DEFAULT);
  const hid_t value_type = H5Tcreate(H5T_COMPOUND, sizeof value);
  H5Tinsert(value_type, column, 0, type);
  const hid_t rows = H5Dget_space(data);
  H5Sselect_elements(rows, H5S_SELECT_SET, 1, &row);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  REQUIRE(H5Dwrite(data, value_type, scalar, rows, H5P_DEFAULT, &value) >= 0);
  H5Sclose(scalar);
  H5Sclose(rows);
  H5Tclose(value_type);
  H5Dclose(data);
}

// Replaces a table by one with a single column of 64-bit integers.
void replace_table(hid_t file, const char* table, const char* column) {
  H5Ldelete(file, table, H5P_DEFAULT);
  const hsize_t rows = 4;
  const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(type, column, 0, H5T_STD_I64LE);
  const hid_t space = H5Screate_simple(1, &rows, nullptr);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, 1, &rows);
  const hid_t data = H5Dcreate2(file, table, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  REQUIRE(data >= 0);
  H5Dclose(data);
  H5Pclose(properties);
  H5Sclose(space);
  H5Tclose(type);
}

// Removes the last `count` columns of a table.
void drop_columns(hid_t file, const char* table, unsigned count) {
  const hid_t data = H5Dopen2(file, table, H5P_DEFAULT);
  const hid_t full_type = H5Dget_type(data);
  const hid_t space = H5Dget_space(data);
  const hid_t properties = H5Dget_create_plist(data);
  const auto remaining = static_cast<unsigned>(H5Tget_nmembers(full_type)) - count;
  const hid_t reduced_type = H5Tcreate(H5T_COMPOUND, H5Tget_member_offset(full_type, remaining));
  for (unsigned i = 0; i < remaining; ++i) {
    const hid_t type = H5Tget_member_type(full_type, i);
    char* const name = H5Tget_member_name(full_type, i);
    H5Tinsert(reduced_type, name, H5Tget_member_offset(full_type, i), type);
    H5free_memory(name);
    H5Tclose(type);
  }
  std::vector<char> rows(H5Tget_size(reduced_type) *
                         static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  REQUIRE(H5Dread(data, reduced_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) >= 0);
  H5Dclose(data);
  H5Ldelete(file, table, H5P_DEFAULT);
  const hid_t fewer =
      H5Dcreate2(file, table, reduced_type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  REQUIRE(H5Dwrite(fewer, reduced_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) >= 0);
  H5Dclose(fewer);
  H5Pclose(properties);
  H5Sclose(space);
  H5Tclose(reduced_type);
  H5Tclose(full_type);
}

void rename(hid_t file, const char* from, const char* to) {
  REQUIRE(H5Lmove(file, from, file, to, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

}  // namespace

TEST_CASE("a trace without a job and assumptions, from an older version, is read", "[trace]") {
  const ChangedTrace changed([](hid_t file) {
    for (const char* attribute :
         {"assumed", "assumed_gpu", "job", "expected_error_low", "expected_error_high",
          "expected_error_nominal", "expected_error_median", "expected_error_scatter",
          "expected_error_basis", "expected_error_rows"})
      H5Adelete(file, attribute);
  });
  trace::RunInfo expected = test::random_trace(1, 4, 100).run;
  expected.evidence = {};
  expected.job = {};
  CHECK(read_trace(changed.path).run == expected);
}

TEST_CASE("a trace without waits of fused pairs, from an older version, is read", "[trace]") {
  const ChangedTrace changed([](hid_t file) { drop_columns(file, "stages", 4); });
  auto expected = test::random_trace(1, 4, 100).stages;
  for (trace::StageRow& stage : expected) {
    stage.waits_paired_f = stage.waits_paired_b = 0;
    stage.waits_s = stage.waits_t = 0;
  }
  CHECK((read_trace(changed.path).stages == expected));
  check_error([](hid_t file) { drop_columns(file, "stages", 5); },
              "column 'waits_r' of table 'stages' is missing");
}

TEST_CASE("a trace without collectives in passes, from an older version, is read", "[trace]") {
  const ChangedTrace changed([](hid_t file) { H5Ldelete(file, "pass_collectives", H5P_DEFAULT); });
  trace::Trace expected = test::random_trace(1, 4, 100);
  expected.pass_collectives.clear();
  CHECK((read_trace(changed.path) == expected));
}

TEST_CASE("the error of a file that is not a trace says what the file is", "[trace]") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH(read_trace(folder / "none.h5"),
                    Equals((folder / "none.h5: no such file").string()));
  CHECK_THROWS_WITH(read_trace(folder.path()), Contains("a folder; expected a pipewright trace"));
  for (const char* bytes : {"", "x", "schedule: 1f1b\n"}) {
    test::write_bytes(folder / "foo.h5", bytes);
    CHECK_THROWS_WITH(read_trace(folder / "foo.h5"),
                      EndsWith("foo.h5: not an HDF5 file; expected a pipewright trace"));
  }
  const hid_t foreign =
      H5Fcreate((folder / "foreign.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(foreign);
  CHECK_THROWS_WITH(read_trace(folder / "foreign.h5"),
                    Contains("an HDF5 file, but not a pipewright trace"));
}

TEST_CASE("a trace that is cut at any length is an error", "[trace]") {
  const ScratchFolder folder;
  test::write_trace(test::random_trace(1, 4, 20000), folder / "whole.h5");
  const std::string whole = test::bytes_of(folder / "whole.h5");
  for (std::size_t percent = 0; percent < 100; ++percent) {
    const std::size_t length = whole.size() * percent / 100;
    CAPTURE(length);
    test::write_bytes(folder / "cut.h5", whole.substr(0, length));
    CHECK_THROWS_AS(read_trace(folder / "cut.h5"), TraceError);
  }
  test::write_bytes(folder / "cut.h5", whole.substr(0, whole.size() - 1));
  CHECK_THROWS_WITH(read_trace(folder / "cut.h5"), Contains("cut short or damaged"));
}

TEST_CASE("a changed byte of the rows is detected", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace trace = test::random_trace(1, 4, 20000);
  test::write_trace(trace, folder / "whole.h5");
  const std::string whole = test::bytes_of(folder / "whole.h5");
  int refused = 0;
  for (std::size_t i = 1; i < 40; ++i) {
    std::string bytes = whole;
    bytes[bytes.size() * i / 40] ^= 0x10;
    test::write_bytes(folder / "bad.h5", bytes);
    try {
      const trace::Trace read = read_trace(folder / "bad.h5");
      CHECK((read == trace));  // Nothing uses the changed byte.
    } catch (const TraceError&) {
      ++refused;
    }
  }
  CHECK(refused > 30);
}

TEST_CASE("the error of another version names the version that can be read", "[trace]") {
  check_error([](hid_t file) { set_number(file, "version", 7); },
              "its trace format has version 7; this program reads versions up to 4");
  check_error([](hid_t file) { set_number(file, "version", 0); },
              "its trace format has version 0; this program reads version 4");
}

TEST_CASE("the error of a missing part names it", "[trace]") {
  check_error([](hid_t file) { H5Adelete(file, "schedule"); }, "attribute 'schedule' is missing");
  check_error([](hid_t file) { H5Adelete(file, "devices"); }, "attribute 'devices' is missing");
  check_error([](hid_t file) { H5Adelete(file, "format"); }, "not a pipewright trace");
  check_error([](hid_t file) { H5Adelete(file, "assumed_gpu"); },
              "attribute 'assumed_gpu' is missing");
  for (const char* table : {"devices", "stages", "passes", "transfers", "memory", "cluster"})
    check_error([&](hid_t file) { rename(file, table, "moved"); },
                std::string("table '") + table + "' is missing");
  check_error([](hid_t file) { replace_table(file, "passes", "other"); },
              "column 'device' of table 'passes' is missing");
  check_error([](hid_t file) { replace_table(file, "passes", "device"); },
              "column 'device' of table 'passes' does not have the type");
  check_error([](hid_t file) { replace_table(file, "devices", "host"); },
              "column 'device' of table 'devices' is missing");
  check_error([](hid_t file) { replace_table(file, "devices", "device"); },
              "column 'device' of table 'devices' does not have the type");
}

TEST_CASE("rows that were never written are not read as zeros", "[trace]") {
  check_error(
      [](hid_t file) {
        const hid_t data = H5Dopen2(file, "passes", H5P_DEFAULT);
        const hsize_t more = 1'000'000'000'000;
        REQUIRE(H5Dset_extent(data, &more) >= 0);
        H5Dclose(data);
      },
      "table 'passes' lacks some of its 1000000000000 rows");
}

TEST_CASE("the error of an invalid value names its place", "[trace]") {
  check_error(
      [](hid_t file) {
        set_value<std::uint32_t>(file, "passes", "device", 17, H5T_NATIVE_UINT32, 4);
      },
      "passes[17].device is 4; expected less than 4");
  check_error(
      [](hid_t file) { set_value(file, "passes", "end", 3, H5T_NATIVE_DOUBLE, std::nan("")); },
      "passes[3].end is nan; expected seconds since the start of the run");
  check_error([](hid_t file) { set_value(file, "memory", "time", 0, H5T_NATIVE_DOUBLE, -1.0); },
              "memory[0].time is -1; ");
  check_error([](hid_t file) { set_number(file, "devices", 5); },
              "table 'devices' has 4 rows, but the run has 5 devices");
  check_error(
      [](hid_t file) {
        set_value<std::uint32_t>(file, "devices", "device", 1, H5T_NATIVE_UINT32, 3);
      },
      "devices[1].device is 3; expected 1");
}

TEST_CASE("unknown columns and attributes are ignored", "[trace]") {
  const ChangedTrace changed([](hid_t file) {
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Aclose(H5Acreate2(file, "new", H5T_STD_U32LE, space, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  });
  CHECK((read_trace(changed.path) == test::random_trace(1, 4, 100)));
}
