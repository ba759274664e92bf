#include <algorithm>

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "analysis/report/why/time_split.hpp"
#include "tests/analysis/report/why/random_runs.hpp"

using namespace pipewright;
using analysis::Idle;
using analysis::IdleCause;

namespace {

struct Span {
  double start = 0;
  double end = 0;
};

double sum(const std::vector<Idle>& idle, std::uint32_t device,
           std::initializer_list<IdleCause> causes) {
  double seconds = 0;
  for (const Idle& interval : idle)
    if (interval.device == device && std::ranges::count(causes, interval.cause) > 0)
      seconds += interval.end - interval.start;
  return seconds;
}

void check(const trace::Trace& trace, const std::string& what) {
  INFO(what);
  const std::vector<Idle> idle = analysis::idle_times(trace);
  const analysis::Summary summary = analysis::summarize(trace);
  const double tolerance = 1e-8 * summary.makespan_s + 1e-8;
  for (std::uint32_t device = 0; device < trace.devices.size(); ++device) {
    CAPTURE(device);
    std::vector<Span> spans;
    std::vector<Span> passes;
    for (const trace::PassRow& row : trace.passes)
      if (row.device == device && (passes.empty() || passes.back().start != row.start))
        passes.push_back({row.start, row.end});
    spans = passes;
    for (const trace::StepRow& row : trace.steps)
      if (row.device == device && row.updated > row.synchronized)
        spans.push_back({row.synchronized, row.updated});
    for (const Idle& interval : idle)
      if (interval.device == device) spans.push_back({interval.start, interval.end});
    std::ranges::sort(spans, {}, &Span::start);
    double worst = 0;
    double now = 0;
    for (const Span& span : spans) {
      worst = std::max(worst, std::abs(span.start - now));
      now = span.end;
    }
    worst = std::max(worst, std::abs(summary.makespan_s - now));
    CHECK(worst < tolerance);

    CHECK(sum(idle, device, {IdleCause::other}) < tolerance);
    const analysis::TimeParts& exposed = summary.devices[device].parts;
    const double p2p =
        sum(idle, device, {IdleCause::transfer, IdleCause::rendezvous, IdleCause::blocked_send});
    CHECK(std::abs(p2p - exposed.p2p) < tolerance);
    const double gradients = sum(idle, device, {IdleCause::gradients, IdleCause::embeddings});
    CHECK(std::abs(gradients - exposed.gradients) < tolerance);
    CHECK(std::abs(sum(idle, device, {IdleCause::weights}) - exposed.weights) < tolerance);
    CHECK(exposed.idle > -tolerance);
  }
}

}  // namespace

TEST_CASE("idle times and passes cover each device, and agree with the summary", "[why]") {
  CHECK(tests::random_pipelines(check) > 150);
}

TEST_CASE("idle times distinguish collectives and steps", "[why]") {
  CHECK(tests::random_hybrids(check) > 100);
}
