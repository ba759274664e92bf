#include <catch2/catch.hpp>

#include "analysis/trace/sink.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;

TEST_CASE("every sink of a tee gets every row", "[trace]") {
  const trace::Trace trace = test::random_trace(9, 4, 50);
  trace::TraceCollector first;
  trace::TraceCollector second;
  trace::Tee tee({&first, &second});
  trace::replay(trace, tee);
  CHECK((first.trace == trace));
  CHECK((second.trace == trace));
}
