#include "analysis/trace/first_iterations.hpp"

#include <catch2/catch.hpp>

using namespace pipewright::trace;

namespace {

// Returns a trace in which each iteration consists of two passes of 1 s and an optimizer step of 1
// s.
Trace trace_of(std::uint32_t iterations) {
  Trace trace;
  trace.run = {.devices = 1, .microbatches = 2, .iterations = 10};
  trace.devices.resize(1);
  for (std::uint32_t i = 0; i < iterations; ++i) {
    for (std::uint32_t k = 0; k < 2; ++k) {
      const double start = 3.0 * i + k;
      trace.passes.push_back({.microbatch = 2 * i + k,
                              .iteration = i,
                              .start = start,
                              .end = start + 1,
                              .released = start + 1});
      trace.transfers.push_back({.microbatch = 2 * i + k, .end = start + 1});
      trace.memory.push_back({.time = start, .bytes = 10 * k});
    }
    trace.collectives.push_back({.iteration = i, .start = 3.0 * i + 2, .end = 3.0 * i + 3});
    trace.steps.push_back({.iteration = i, .start = 3.0 * i + 2, .end = 3.0 * i + 3});
  }
  trace.link_use = {{.start = 0, .end = 4, .bytes = 400}, {.start = 4, .end = 8, .bytes = 400}};
  trace.pass_collectives = {{.calls = 100, .bytes = 1000, .seconds = 5, .exposed = 1}};
  return trace;
}

}  // namespace

TEST_CASE("the first iterations of a trace have exactly their rows", "[trace]") {
  const Trace first = first_iterations(trace_of(3), 2);
  CHECK(first.run.iterations == 2);
  CHECK(first.passes.size() == 4);
  CHECK(first.transfers.size() == 4);
  CHECK(first.collectives.size() == 2);
  CHECK(first.steps.size() == 2);
  CHECK(first.memory.size() == 5);  // Includes the row at the end of the last iteration.
  Trace whole = trace_of(2);
  CHECK(first.passes == whole.passes);
}

TEST_CASE("link traffic after the last iteration is left out", "[trace]") {
  const Trace first = first_iterations(trace_of(3), 2);  // Up to 6 s.
  REQUIRE(first.link_use.size() == 2);
  CHECK(first.link_use[0].bytes == 400);
  CHECK(first.link_use[1].bytes == 200);
  CHECK(first.link_use[1].end == 6);
}

TEST_CASE("sums of collectives within passes are scaled to the remaining iterations", "[trace]") {
  const Trace first = first_iterations(trace_of(3), 2);  // Two of ten planned iterations.
  REQUIRE(first.pass_collectives.size() == 1);
  CHECK(first.pass_collectives[0].calls == 20);
  CHECK(first.pass_collectives[0].bytes == 200);
  CHECK(first.pass_collectives[0].seconds == 1);
}
