#include "analysis/measured/files/input_file.hpp"

#include <catch2/catch.hpp>

#include "analysis/measured/formats.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::file_kind;
using analysis::FileKind;

TEST_CASE("the kind of a file follows from its content, not from its name", "[import]") {
  const test::ScratchFolder folder;
  test::write_trace(test::two_device_run(), folder / "a.json");
  CHECK(file_kind(folder / "a.json") == FileKind::trace);
  CHECK(file_kind(test::measured_sample("kineto-rank0.json")) == FileKind::chrome);
  CHECK(file_kind(test::measured_sample("megatron.log")) == FileKind::training_log);
  test::write_bytes(folder / "a.h5", "  \n [ {} ]");
  CHECK(file_kind(folder / "a.h5") == FileKind::chrome);
  CHECK(file_kind(test::measured_sample("megatron-all.log")) == FileKind::training_log);
  test::write_bytes(folder / "s", "0F0,0F1,,0B0\r\n,1F0,1B0,1F1\r\n");
  CHECK(file_kind(folder / "s") == FileKind::torch_schedule);
  test::write_bytes(folder / "late", ",,(0F7;7B3)OVERLAP_F_B\n");
  CHECK(file_kind(folder / "late") == FileKind::torch_schedule);
  for (const std::string text : {"", "hello, world\n", "a,b\n1,2\n", "3 Fish\n"}) {
    test::write_bytes(folder / "x.h5", text);
    CAPTURE(text);
    CHECK_THROWS_AS(file_kind(folder / "x.h5"), trace::TraceError);
  }
}

TEST_CASE("a name with {rank} denotes the files of all ranks", "[import]") {
  const test::ScratchFolder folder;
  for (const std::string name :
       {"r10.json", "r9.json", "rx.json", "r.json", "r1.json.gz", "r2.json"})
    test::write_bytes(folder / name, "");
  const auto files = analysis::rank_files(folder / "r{rank}.json");
  REQUIRE(files.size() == 3);
  CHECK(files[0].filename() == "r2.json");
  CHECK(files[1].filename() == "r9.json");
  CHECK(files[2].filename() == "r10.json");
  CHECK(analysis::rank_files("plain.json").size() == 1);
  CHECK_THROWS_WITH(analysis::rank_files(folder / "q{rank}.json"),
                    Catch::Contains("no file has this name"));
}
