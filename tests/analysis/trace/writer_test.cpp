#include "analysis/trace/writer.hpp"

#include <optional>

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using test::ScratchFolder;
using trace::TraceError;
using trace::TraceWriter;

TEST_CASE("a writer that never finishes leaves no file", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace trace = test::random_trace(1, 4, 40000);
  {
    TraceWriter writer(folder / "a.h5");
    writer.begin(trace.run, trace.devices, trace.stages);
    for (const auto& row : trace.passes) writer.pass(row);
    CHECK(std::filesystem::exists(writer.temporary()));
    CHECK(writer.temporary().parent_path() == folder.path());
  }
  CHECK(folder.entries() == 0);
}

TEST_CASE("an earlier file stays until the new one is complete", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace earlier = test::random_trace(1, 1, 10);
  const trace::Trace later = test::random_trace(2, 2, 20);
  test::write_trace(earlier, folder / "a.h5");
  TraceWriter writer(folder / "a.h5");
  writer.begin(later.run, later.devices, later.stages);
  CHECK((trace::read_trace(folder / "a.h5") == earlier));
  writer.finish();
  CHECK(trace::read_trace(folder / "a.h5").run == later.run);
  CHECK(folder.entries() == 1);
}

TEST_CASE("two writers of the same file do not interfere", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace first_trace = test::random_trace(1, 3, 30000);
  const trace::Trace second_trace = test::random_trace(2, 3, 30000);
  std::optional<TraceWriter> first(folder / "a.h5");
  std::optional<TraceWriter> second(folder / "a.h5");
  first->begin(first_trace.run, first_trace.devices, first_trace.stages);
  second->begin(second_trace.run, second_trace.devices, second_trace.stages);
  for (std::size_t i = 0; i < first_trace.passes.size(); ++i) {
    first->pass(first_trace.passes[i]);
    second->pass(second_trace.passes[i]);
  }
  first->finish();
  CHECK((trace::read_trace(folder / "a.h5").passes == first_trace.passes));
  second->finish();
  CHECK((trace::read_trace(folder / "a.h5").passes == second_trace.passes));
  first.reset();
  second.reset();
  CHECK(folder.entries() == 1);
}

TEST_CASE("an invalid path is an error at once", "[trace]") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH(TraceWriter(folder / "missing/a.h5"),
                    StartsWith((folder / "missing/a.h5: cannot write: ").string()) &&
                        Contains("folder '" + (folder / "missing").string() + "' does not exist"));
  CHECK_THROWS_WITH(TraceWriter(folder.path()), Contains("cannot write: it is a folder"));
  CHECK_THROWS_WITH(TraceWriter(folder / ""), Contains("cannot write: "));
  test::write_bytes(folder / "file", "");
  CHECK_THROWS_WITH(TraceWriter(folder / "file/a.h5"), Contains("cannot write: Not a directory"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(TraceWriter(folder / "pipe"),
                    Contains("cannot write: it is not a regular file"));
  CHECK_THROWS_AS(TraceWriter("/dev/null"), TraceError);
  CHECK(folder.entries() == 2);
}

TEST_CASE("a symbolic link to a file stays a link", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace trace = test::random_trace(1, 1, 10);
  test::write_bytes(folder / "target.h5", "");
  std::filesystem::create_symlink(folder / "target.h5", folder / "link.h5");
  test::write_trace(trace, folder / "link.h5");
  CHECK(std::filesystem::is_symlink(folder / "link.h5"));
  CHECK((trace::read_trace(folder / "target.h5") == trace));
}

TEST_CASE("rows before begin or after finish are logic errors", "[trace]") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "a.h5");
  CHECK_THROWS_AS(writer.pass({}), std::logic_error);
  CHECK_THROWS_AS(writer.finish(), std::logic_error);
  writer.begin({}, {}, {});
  CHECK_THROWS_AS(writer.begin({}, {}, {}), std::logic_error);
  writer.finish();
  CHECK_THROWS_AS(writer.memory({}), std::logic_error);
  CHECK_THROWS_AS(writer.finish(), std::logic_error);
}
