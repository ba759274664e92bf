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

// A good trace, then changed by HDF5 itself.
struct Changed {
  ScratchFolder folder;
  std::filesystem::path path = folder / "a.h5";
  explicit Changed(const std::function<void(hid_t)>& change) {
    test::write_trace(test::random_trace(1, 4, 100), path);
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    REQUIRE(file >= 0);
    change(file);
    REQUIRE(H5Fclose(file) >= 0);
  }
};

void check_error(const std::function<void(hid_t)>& change, const std::string& text) {
  const Changed changed(change);
  CHECK_THROWS_WITH(read_trace(changed.path),
                    StartsWith(changed.path.string() + ": ") && Contains(text));
}

void set_number(hid_t file, const char* attribute, std::uint32_t value) {
  const hid_t id = H5Aopen(file, attribute, H5P_DEFAULT);
  REQUIRE(H5Awrite(id, H5T_NATIVE_UINT32, &value) >= 0);
  H5Aclose(id);
}

// Writes one column of one row.
template <class Value>
void set_value(hid_t file, const char* table, const char* column, hsize_t row, hid_t type,
               Value value) {
  const hid_t data = H5Dopen2(file, table, H5P_DEFAULT);
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

// In the place of a table: one of 64-bit integers in a single column.
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

// Leaves out the last columns of a table.
void drop_columns(hid_t file, const char* table, unsigned count) {
  const hid_t data = H5Dopen2(file, table, H5P_DEFAULT);
  const hid_t all = H5Dget_type(data);
  const hid_t space = H5Dget_space(data);
  const hid_t properties = H5Dget_create_plist(data);
  const auto kept = static_cast<unsigned>(H5Tget_nmembers(all)) - count;
  const hid_t some = H5Tcreate(H5T_COMPOUND, H5Tget_member_offset(all, kept));
  for (unsigned i = 0; i < kept; ++i) {
    const hid_t type = H5Tget_member_type(all, i);
    char* const name = H5Tget_member_name(all, i);
    H5Tinsert(some, name, H5Tget_member_offset(all, i), type);
    H5free_memory(name);
    H5Tclose(type);
  }
  std::vector<char> rows(H5Tget_size(some) *
                         static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  REQUIRE(H5Dread(data, some, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) >= 0);
  H5Dclose(data);
  H5Ldelete(file, table, H5P_DEFAULT);
  const hid_t fewer = H5Dcreate2(file, table, some, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  REQUIRE(H5Dwrite(fewer, some, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()) >= 0);
  H5Dclose(fewer);
  H5Pclose(properties);
  H5Sclose(space);
  H5Tclose(some);
  H5Tclose(all);
}

void rename(hid_t file, const char* from, const char* to) {
  REQUIRE(H5Lmove(file, from, file, to, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

}  // namespace

TEST_CASE("a trace from before it said its job and what its times rest on is read", "[trace]") {
  const Changed changed([](hid_t file) {
    for (const char* attribute : {"assumed", "assumed_gpu", "job"}) H5Adelete(file, attribute);
  });
  trace::RunInfo expected = test::random_trace(1, 4, 100).run;
  expected.assumed = {};
  expected.job = {};
  CHECK(read_trace(changed.path).run == expected);
}

TEST_CASE("a trace from before it told of fused pairs is read", "[trace]") {
  const Changed changed([](hid_t file) { drop_columns(file, "stages", 2); });
  auto expected = test::random_trace(1, 4, 100).stages;
  for (trace::StageRow& stage : expected) stage.waits_paired_f = stage.waits_paired_b = 0;
  CHECK((read_trace(changed.path).stages == expected));
  check_error([](hid_t file) { drop_columns(file, "stages", 3); },
              "column 'waits_r' of table 'stages' is missing");
}

TEST_CASE("a trace from before it told collectives in passes apart is read", "[trace]") {
  const Changed changed([](hid_t file) { H5Ldelete(file, "pass_collectives", H5P_DEFAULT); });
  trace::Trace expected = test::random_trace(1, 4, 100);
  expected.pass_collectives.clear();
  CHECK((read_trace(changed.path) == expected));
}

TEST_CASE("what is no trace is named for what it is", "[trace]") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH(read_trace(folder / "none.h5"),
                    Equals((folder / "none.h5: no such file").string()));
  CHECK_THROWS_WITH(read_trace(folder.path()), Contains("a folder: a pipewright trace"));
  for (const char* bytes : {"", "x", "schedule: 1f1b\n"}) {
    test::write_bytes(folder / "foo.h5", bytes);
    CHECK_THROWS_WITH(read_trace(folder / "foo.h5"),
                      EndsWith("foo.h5: not an HDF5 file: a pipewright trace was expected"));
  }
  const hid_t foreign =
      H5Fcreate((folder / "foreign.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(foreign);
  CHECK_THROWS_WITH(read_trace(folder / "foreign.h5"),
                    Contains("an HDF5 file, but not a pipewright trace"));
}

TEST_CASE("a trace cut at any length is an error", "[trace]") {
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

TEST_CASE("a changed byte among the rows does not pass for data", "[trace]") {
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
      CHECK((read == trace));  // a byte that nothing uses
    } catch (const TraceError&) {
      ++refused;
    }
  }
  CHECK(refused > 30);
}

TEST_CASE("another version says which one is read", "[trace]") {
  check_error([](hid_t file) { set_number(file, "version", 7); },
              "its trace format has version 7, newer than 4, the newest that this program reads");
  check_error([](hid_t file) { set_number(file, "version", 0); },
              "its trace format has version 0; this program reads version 4");
}

TEST_CASE("what is missing is named", "[trace]") {
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
              "column 'device' of table 'passes' is not of its type");
  check_error([](hid_t file) { replace_table(file, "devices", "host"); },
              "column 'device' of table 'devices' is missing");
  check_error([](hid_t file) { replace_table(file, "devices", "device"); },
              "column 'device' of table 'devices' is not of its type");
}

TEST_CASE("rows that were never written are not read as zeros", "[trace]") {
  check_error(
      [](hid_t file) {
        const hid_t data = H5Dopen2(file, "passes", H5P_DEFAULT);
        const hsize_t more = 1'000'000'000'000;
        REQUIRE(H5Dset_extent(data, &more) >= 0);
        H5Dclose(data);
      },
      "table 'passes' misses some of its 1000000000000 rows");
}

TEST_CASE("values out of sense name their place", "[trace]") {
  check_error(
      [](hid_t file) {
        set_value<std::uint32_t>(file, "passes", "device", 17, H5T_NATIVE_UINT32, 4);
      },
      "passes[17].device is 4: less than 4 was expected");
  check_error(
      [](hid_t file) { set_value(file, "passes", "end", 3, H5T_NATIVE_DOUBLE, std::nan("")); },
      "passes[3].end is nan: seconds from the start of the run were expected");
  check_error([](hid_t file) { set_value(file, "memory", "time", 0, H5T_NATIVE_DOUBLE, -1.0); },
              "memory[0].time is -1: ");
  check_error([](hid_t file) { set_number(file, "devices", 5); },
              "table 'devices' has 4 rows, but the run has 5 devices");
  check_error(
      [](hid_t file) {
        set_value<std::uint32_t>(file, "devices", "device", 1, H5T_NATIVE_UINT32, 3);
      },
      "devices[1].device is 3: 1 was expected");
}

TEST_CASE("columns and attributes that this version does not know are passed over", "[trace]") {
  const Changed changed([](hid_t file) {
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Aclose(H5Acreate2(file, "new", H5T_STD_U32LE, space, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  });
  CHECK((read_trace(changed.path) == test::random_trace(1, 4, 100)));
}
