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

TEST_CASE("a writer that never finishes leaves nothing", "[trace]") {
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

TEST_CASE("an earlier file keeps its place until the new one is whole", "[trace]") {
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

TEST_CASE("two writers of one name do not disturb each other", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace one = test::random_trace(1, 3, 30000);
  const trace::Trace other = test::random_trace(2, 3, 30000);
  std::optional<TraceWriter> first(folder / "a.h5");
  std::optional<TraceWriter> second(folder / "a.h5");
  first->begin(one.run, one.devices, one.stages);
  second->begin(other.run, other.devices, other.stages);
  for (std::size_t i = 0; i < one.passes.size(); ++i) {
    first->pass(one.passes[i]);
    second->pass(other.passes[i]);
  }
  first->finish();
  CHECK((trace::read_trace(folder / "a.h5").passes == one.passes));
  second->finish();
  CHECK((trace::read_trace(folder / "a.h5").passes == other.passes));
  first.reset();
  second.reset();
  CHECK(folder.entries() == 1);
}

TEST_CASE("a place where no trace can go is told at once", "[trace]") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH(TraceWriter(folder / "missing/a.h5"),
                    StartsWith((folder / "missing/a.h5: cannot write: ").string()) &&
                        Contains("there is no folder '" + (folder / "missing").string() + "'"));
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

TEST_CASE("a link to a file stays one", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace trace = test::random_trace(1, 1, 10);
  test::write_bytes(folder / "target.h5", "");
  std::filesystem::create_symlink(folder / "target.h5", folder / "link.h5");
  test::write_trace(trace, folder / "link.h5");
  CHECK(std::filesystem::is_symlink(folder / "link.h5"));
  CHECK((trace::read_trace(folder / "target.h5") == trace));
}

TEST_CASE("rows outside of begin and finish are our own fault", "[trace]") {
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
