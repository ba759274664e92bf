#include <chrono>
#include <limits>
#include <thread>

#include <catch2/catch.hpp>

#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/tables.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using test::ScratchFolder;

TEST_CASE("a trace of any size is read back unchanged", "[trace]") {
  const ScratchFolder folder;
  const auto passes =
      GENERATE(as<std::size_t>(), 1, 7, 8, 9, 1000, trace::chunk_rows / 2, trace::chunk_rows - 1,
               trace::chunk_rows, trace::chunk_rows + 1, 3 * trace::chunk_rows + 17);
  CAPTURE(passes);
  const trace::Trace written =
      test::random_trace(static_cast<unsigned>(passes), passes % 2 ? 8 : 1, passes);
  test::write_trace(written, folder / "a.h5");
  const trace::Trace read = trace::read_trace(folder / "a.h5");
  CHECK(read.run == written.run);
  CHECK(read.devices == written.devices);
  CHECK(read.stages == written.stages);
  CHECK((read.passes == written.passes));
  CHECK((read.transfers == written.transfers));
  CHECK((read.memory == written.memory));
  CHECK(read.links == written.links);
  CHECK(read.link_use == written.link_use);
  CHECK(read.paths == written.paths);
}

TEST_CASE("an empty trace is read back", "[trace]") {
  const ScratchFolder folder;
  test::write_trace({}, folder / "empty.h5");
  CHECK((trace::read_trace(folder / "empty.h5") == trace::Trace{}));
}

TEST_CASE("the largest values of every column are read back", "[trace]") {
  const ScratchFolder folder;
  constexpr std::uint32_t max_index = std::numeric_limits<std::uint32_t>::max();
  constexpr double huge = std::numeric_limits<double>::max();
  constexpr double tiny = std::numeric_limits<double>::denorm_min();
  trace::Trace written;
  written.run.devices = 1;
  written.run.chunks = max_index;
  written.run.microbatches = max_index;
  written.run.iterations = max_index;
  written.devices = {{0, "h", std::numeric_limits<std::uint64_t>::max()}};
  written.stages = {{max_index - 1, max_index - 1, 0}};
  written.passes = {{0, max_index - 1, max_index - 1, max_index, max_index - 1,
                     trace::PassKind::backward, 0, tiny, 1, huge, huge}};
  written.memory = {{0, trace::MemoryCategory::activations, huge, ~std::uint64_t{0}}};
  test::write_trace(written, folder / "large.h5");
  CHECK((trace::read_trace(folder / "large.h5") == written));
}

TEST_CASE("waits for other replicas are read back and checked", "[trace]") {
  const ScratchFolder folder;
  trace::Trace written = test::random_trace(1, 2, 10);
  written.run.replicas = 4;
  written.waits = {{.iteration = 0,
                    .event = trace::WaitEvent::reduce_gradients,
                    .stage = 1,
                    .replica = 3,
                    .device = 1,
                    .time = 0.25},
                   {.event = trace::WaitEvent::end, .replica = 2, .device = 0, .time = 7}};
  test::write_trace(written, folder / "waits.h5");
  CHECK((trace::read_trace(folder / "waits.h5") == written));
  written.waits.front().replica = 4;
  test::write_trace(written, folder / "waits.h5");
  CHECK_THROWS_WITH(trace::read_trace(folder / "waits.h5"),
                    Catch::Contains("waits[0].replica is 4; expected less than 4"));
}

TEST_CASE("texts of any length and content are read back", "[trace]") {
  const ScratchFolder folder;
  trace::Trace written = test::random_trace(1, 2, 10);
  written.run.schedule = "say \"1f1b\", it's\ta tab\nand a line";
  written.run.network = "Rechenzentrum Süd · 計算機";
  written.devices[0].host = "nœud \"0\"\n";
  written.devices[1].host = "";
  for (int i = 0; i < 40000; ++i) {
    // Older HDF5 formats limit attributes to 64 KB; these texts are longer.
    written.run.scenario += "forward: 0.5 ms\n";
    written.run.cluster += "<link id=\"" + std::to_string(i) + "\" bandwidth=\"25GBps\"/>\n";
  }
  test::write_trace(written, folder / "long.h5");
  CHECK((trace::read_trace(folder / "long.h5") == written));
  const auto size = std::filesystem::file_size(folder / "long.h5");
  CHECK(size < written.run.scenario.size() + written.run.cluster.size() / 4);
}

TEST_CASE("equal rows make equal bytes at any time and under any name", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace trace = test::random_trace(5, 4, 20000);
  test::write_trace(trace, folder / "a.h5");
  std::this_thread::sleep_for(
      std::chrono::milliseconds(1100));  // HDF5's time stamps count seconds.
  test::write_trace(trace, folder / "another name.h5");
  CHECK((test::bytes_of(folder / "a.h5") == test::bytes_of(folder / "another name.h5")));
}

TEST_CASE("a replay goes table by table and ends with finish", "[trace]") {
  struct Order final : trace::Sink {
    std::string calls;
    void note(char c) {
      if (calls.empty() || calls.back() != c) calls += c;
    }
    void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
               const std::vector<trace::StageRow>&) override {
      note('b');
    }
    void pass(const trace::PassRow&) override { note('p'); }
    void transfer(const trace::TransferRow&) override { note('t'); }
    void memory(const trace::MemoryRow&) override { note('m'); }
    void finish() override { note('f'); }
  };
  const ScratchFolder folder;
  test::write_trace(test::random_trace(2, 3, 20000), folder / "a.h5");
  Order order;
  trace::replay(folder / "a.h5", order);
  CHECK(order.calls == "bptmf");
}
