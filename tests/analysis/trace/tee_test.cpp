#include <catch2/catch.hpp>

#include "analysis/trace/sink.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;

TEST_CASE("every sink of a tee gets every row", "[trace]") {
  const trace::Trace trace = test::random_trace(9, 4, 50);
  trace::TraceCollector one;
  trace::TraceCollector other;
  trace::Tee tee({&one, &other});
  trace::replay(trace, tee);
  CHECK((one.trace == trace));
  CHECK((other.trace == trace));
}
