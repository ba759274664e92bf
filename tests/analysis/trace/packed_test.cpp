#include "analysis/trace/packed.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "analysis/trace/error.hpp"

using namespace pipewright::trace;

namespace {

Trace sample_trace() {
  Trace trace;
  trace.run.schedule = "1f1b";
  trace.run.devices = 2;
  trace.run.cluster = "<platform/>";
  trace.run.evidence = {"b200",
                        {"flops"},
                        {.low = -0.125, .high = 0.25, .nominal = 0.9, .basis = "b200", .rows = 17}};
  trace.devices = {{0, "node-0-gpu-0", 80}, {1, "a", 0}};
  trace.stages.resize(2);
  trace.stages[1].waits_b = 0.25;
  trace.passes.resize(3);
  trace.passes[2] = {1, 1, 0, 7, 0, PassKind::backward, 0.5, 0.5, 1, 2, 2};
  trace.links = {{0, "up", "nvlink", 4, 450e9}};
  trace.pass_collectives = {{1, "tp", "all-gather", 3, 4096, 0.5, 0.25}};
  return trace;
}

std::vector<char> pack_block(const Trace& trace, const Json& packing) {
  std::vector<char> block(packing["bytes"].get<std::size_t>());
  pack(trace, packing, block);
  return block;
}

}  // namespace

TEST_CASE("a trace that is packed into a block is read back unchanged", "[trace]") {
  const Trace trace = sample_trace();
  const Json packing = pipewright::trace::packing(trace);
  CHECK(unpack(packing, pack_block(trace, packing)) == trace);
}

TEST_CASE("rows of numbers have their layout in memory, and texts a fixed length", "[trace]") {
  const Json packing = pipewright::trace::packing(sample_trace());
  CHECK(packing["tables"]["passes"]["row_bytes"] == sizeof(PassRow));
  CHECK(packing["tables"]["passes"]["rows"] == 3);
  CHECK(packing["tables"]["devices"]["columns"][1]["type"] == "S12");
  CHECK(packing["tables"]["passes"]["columns"][5]["names"][3] == "B");
  for (const auto& table : packing["tables"]) CHECK(table["at"].get<std::size_t>() % 64 == 0);
}

TEST_CASE("a block that is too small for its trace is an error", "[trace]") {
  const Trace trace = sample_trace();
  const Json packing = pipewright::trace::packing(trace);
  std::vector<char> block = pack_block(trace, packing);
  block.resize(block.size() / 2);
  CHECK_THROWS_AS(unpack(packing, block), TraceError);
}
