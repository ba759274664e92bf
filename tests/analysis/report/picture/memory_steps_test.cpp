#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "analysis/report/picture/memory_panel.hpp"
#include "analysis/report/summary.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/report/runs.hpp"

namespace pipewright::analysis {
namespace {

double peak(const std::vector<MemoryStep>& steps) {
  double max_bytes = 0;
  for (const MemoryStep& step : steps) max_bytes = std::max(max_bytes, step.total());
  return max_bytes;
}

}  // namespace

TEST_CASE("memory steps have the bytes of the rows", "[picture]") {
  constexpr double gib = 1024.0 * 1024 * 1024;
  const auto devices = memory_steps(pipewright::test::two_device_run());
  REQUIRE(devices.size() == 2);
  REQUIRE(devices[0].size() == 3);
  CHECK(devices[0][1].s == 1);
  CHECK(devices[0][1].total() == 7 * gib);
  CHECK(devices[0][2].total() == 4 * gib);
  CHECK(devices[1].size() == 1);
}

TEST_CASE("coarser steps preserve the peak and the bytes between changes", "[picture]") {
  const trace::Trace run = test::one_f_one_b_trace({.devices = 4, .microbatches = 200});
  const Summary summary = summarize(run);
  const auto devices = memory_steps(run);
  for (std::size_t device = 0; device < devices.size(); ++device)
    for (const std::size_t columns : {1U, 7U, 100U}) {
      const auto coarse = coarsen(devices[device], summary.makespan_s, columns);
      CHECK(coarse.size() == columns);
      CHECK(peak(coarse) == static_cast<double>(summary.devices[device].peak_memory_bytes));
    }
  // A column of the picture in which memory does not change shows the bytes of the last change
  // before it.
  std::vector<MemoryStep> steps(3);
  steps[0].bytes[0] = 5;
  steps[1] = {0.1, {7}};
  steps[2] = {9.9, {1}};
  const auto coarse = coarsen(steps, 10, 2);
  CHECK(coarse[0].total() == 7);
  CHECK(coarse[1].total() == 7);
}

}  // namespace pipewright::analysis
