#include "analysis/measured/measured_run.hpp"

#include <catch2/catch.hpp>

#include "analysis/report/summary.hpp"
#include "analysis/trace/error.hpp"
#include "analysis/trace/reader.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::import_chrome;
using analysis::ImportOptions;
using analysis::MeasuredRun;
using test::ChromeText;
using test::measured_sample;
using trace::PassKind;

namespace {

MeasuredRun import_text(const std::string& text, const ImportOptions& options = {}) {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.json", text);
  return import_chrome({folder / "t.json"}, options);
}

std::string import_error(const std::string& text, const ImportOptions& options = {}) {
  try {
    import_text(text, options);
    return "";
  } catch (const trace::TraceError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("two profiles of PyTorch's ranks make one run", "[import]") {
  const MeasuredRun run =
      import_chrome({measured_sample("kineto-rank1.json"), measured_sample("kineto-rank0.json")});
  CHECK(run.notes.empty());
  CHECK(run.trace.run.devices == 2);
  CHECK(run.trace.run.microbatches == 2);
  CHECK(run.trace.run.iterations == 2);
  CHECK(run.trace.devices.at(0).host == "rank 0");
  REQUIRE(run.trace.passes.size() == 16);
  // The start and the end of a pass are taken from the GPU's stream, not from the CPU's launches.
  const trace::PassRow& last = run.trace.passes.at(7);
  CHECK(last.device == 0);
  CHECK(last.kind == PassKind::backward);
  CHECK(last.microbatch == 3);
  CHECK(last.iteration == 1);
  CHECK(last.start == Approx(17.2e-3));
  CHECK(last.end == Approx(19.2e-3));
  const analysis::Summary summary = analysis::summarize(run.trace);
  CHECK(summary.makespan_s == Approx(19.2e-3));
  CHECK(summary.devices.at(1).busy_s == Approx(12e-3));
  REQUIRE(run.handover_s.has_value());
  CHECK(*run.handover_s == Approx(0.1e-3));
}

TEST_CASE("an import returns the passes of the exported run", "[import]") {
  const trace::Trace original = test::two_device_run();
  const test::ScratchFolder folder;
  const MeasuredRun run = import_chrome(test::write_chrome(original, folder.path()));
  REQUIRE(run.trace.passes.size() == original.passes.size());
  for (const trace::PassRow& pass : original.passes) {
    const auto match = std::find_if(
        run.trace.passes.begin(), run.trace.passes.end(), [&](const trace::PassRow& candidate) {
          return candidate.stage == pass.stage && candidate.kind == pass.kind &&
                 candidate.microbatch == pass.microbatch;
        });
    REQUIRE(match != run.trace.passes.end());
    CHECK(match->device == pass.device);
    CHECK(match->start == Approx(pass.start).margin(1e-9));
    CHECK(match->end == Approx(pass.end));
  }
  CHECK(analysis::summarize(run.trace).bubble_ratio ==
        Approx(analysis::summarize(original).bubble_ratio));
}

TEST_CASE("rows of a measured run are valid rows of a trace", "[import]") {
  const MeasuredRun run =
      import_chrome({measured_sample("kineto-rank0.json"), measured_sample("kineto-rank1.json")});
  trace::RowChecks checks(run.trace.run);
  for (const auto& row : run.trace.stages) CHECK_FALSE(checks.error_in(row));
  for (const auto& row : run.trace.passes) CHECK_FALSE(checks.error_in(row));
}

TEST_CASE("warm-up iterations are skipped", "[import]") {
  const MeasuredRun run = import_chrome(
      {measured_sample("kineto-rank0.json"), measured_sample("kineto-rank1.json")}, {.skip = 1});
  CHECK(run.trace.run.iterations == 1);
  REQUIRE(run.trace.passes.size() == 8);
  CHECK(run.trace.passes.front().start == 0);
  CHECK_THROWS_WITH(import_chrome({measured_sample("kineto-rank0.json")}, {.skip = 2}),
                    Catch::Contains("skip fewer"));
}

TEST_CASE("without steps, the n-th occurrence of a microbatch is in iteration n", "[import]") {
  ChromeText text;
  for (int i = 0; i < 3; ++i)
    for (int m = 0; m < 2; ++m) {
      text.add("Forward " + std::to_string(m), 1000 * i + 100 * m, 50);
      text.add("Backward " + std::to_string(m), 1000 * i + 500 + 100 * m, 90);
    }
  const MeasuredRun run = import_text(text.text());
  CHECK(run.trace.run.iterations == 3);
  CHECK(run.trace.run.microbatches == 2);
  CHECK(run.trace.passes.back().microbatch == 5);
}

TEST_CASE("passes whose names have no numbers are counted", "[import]") {
  ChromeText text;
  for (int i = 0; i < 6; ++i)
    text.add("forward_step", 100 * i, 40).add("backward_step", 100 * i + 50, 45);
  CHECK(import_text(text.text()).trace.run.microbatches == 6);
  const MeasuredRun run = import_text(text.text(), {.microbatches = 3});
  CHECK(run.trace.run.iterations == 2);
  CHECK(run.trace.run.microbatches == 3);
}

TEST_CASE("the processes of a file are devices, ordered by number", "[import]") {
  ChromeText text;
  for (const int process : {10, 9, 2})
    for (int m = 0; m < 2; ++m) {
      text.add("Forward " + std::to_string(m), process + 100 * m, 50, "user_annotation", process);
      text.add("Backward " + std::to_string(m), process + 500 + 100 * m, 50, "user_annotation",
               process);
    }
  const trace::Trace trace = import_text(text.text()).trace;
  REQUIRE(trace.devices.size() == 3);
  CHECK(trace.devices[0].host == "process 2");
  CHECK(trace.devices[2].host == "process 10");
  CHECK(trace.stages.size() == 3);
}

TEST_CASE("B beside W is the input gradient, as in PyTorch of 2024", "[import]") {
  ChromeText text;
  text.add("PP:0F0", 0, 10).add("PP:0B0", 10, 10).add("PP:0W0", 20, 10);
  const trace::Trace trace = import_text(text.text()).trace;
  REQUIRE(trace.passes.size() == 3);
  CHECK(trace.passes[1].kind == PassKind::input_grad);
}

TEST_CASE("the passes of a fused pair start and end together", "[import]") {
  ChromeText text;
  text.add("PP:0F0", 0, 10).add("PP:0B0", 30, 10).add("PP:1F0", 10, 10).add("PP:1B0", 20, 10);
  text.add("PP:0F1", 40, 10).add("PP:1F1", 50, 10);
  text.add("PP:(0F2;1B1)OVERLAP_F_B", 60, 25).add("PP:0B1", 85, 10).add("PP:1F2", 95, 10);
  text.add("PP:1B2", 105, 10).add("PP:0B2", 115, 10);
  const trace::Trace trace = import_text(text.text()).trace;
  REQUIRE(trace.passes.size() == 12);
  CHECK(trace.run.chunks == 2);
  CHECK(analysis::summarize(trace).devices[0].busy_s == Approx(125e-6));
}

TEST_CASE("incomplete iterations are left out with a note", "[import]") {
  ChromeText text;
  text.add("PP:0F0", 0, 10).add("PP:0F1", 10, 10).add("PP:0B0", 20, 10).add("PP:0B1", 30, 10);
  text.add("PP:0F0", 40, 10).add("PP:0F1", 50, 10).add("PP:0B0", 60, 10);
  const MeasuredRun run = import_text(text.text());
  CHECK(run.trace.run.iterations == 1);
  REQUIRE(run.notes.size() == 1);
  CHECK_THAT(run.notes[0],
             Catch::Contains("iteration 1") && Catch::Contains("B of microbatch 1 on stage 0"));
}

TEST_CASE("profiles that cannot be a run are refused", "[import]") {
  CHECK_THAT(import_error(ChromeText().add("Iteration 3", 0, 1).add("Iteration 3", 2, 1).text()),
             Catch::Contains("none of 2 events marks a pass") &&
                 Catch::Contains("'Iteration 3' (2 times)") && Catch::Contains("--pattern"));
  CHECK_THAT(import_error(ChromeText().text()), Catch::Contains("record_function makes them"));
  CHECK_THAT(import_error(ChromeText().add("gemm", 0, 1, "kernel").text()),
             Catch::Contains("'kernel' (1 times)") && Catch::Contains("--category"));
  CHECK_THAT(import_error(ChromeText().add("PP:0F0", 0, 10).add("PP:0B0", 5, 10).text()),
             Catch::Contains("overlap") && Catch::Contains("5.00 us"));
  CHECK_THAT(import_error(ChromeText().add("PP:0F0", 0, 10).add("PP:2F0", 10, 1).text()),
             Catch::Contains("stage 1 of 3 has no forward pass"));
  CHECK_THAT(
      import_error(
          ChromeText().add("PP:0F0", 0, 10).add("PP:0B0", 20, 10).add("PP:0B1", 30, 1).text()),
      Catch::Contains("no iteration is complete") &&
          Catch::Contains("F of microbatch 1 on stage 0"));
  CHECK_THAT(import_error(ChromeText().add("PP:0F0", 0, -1).text()),
             Catch::Contains("'dur'") && Catch::Contains("line 3"));
  CHECK_THAT(
      import_error(ChromeText()
                       .add("PP:0F0", 0, 1, "gpu_user_annotation", 0, 1)
                       .add("PP:0F0", 10, 1, "gpu_user_annotation", 1, 1)
                       .add("PP:0B0", 2, 1, "gpu_user_annotation", 0, 1)
                       .add("PP:0B0", 12, 1, "gpu_user_annotation", 1, 1)
                       .text()),
      Catch::Contains("twice") && Catch::Contains("process 0") && Catch::Contains("process 1"));
}

TEST_CASE("two files of one rank are refused", "[import]") {
  CHECK_THROWS_WITH(
      import_chrome({measured_sample("kineto-rank0.json"), measured_sample("kineto-rank0.json")}),
      Catch::Contains("has rank 0"));
}

TEST_CASE("contradicting clocks cause a note and can be aligned", "[import]") {
  const trace::Trace original = test::two_device_run();
  const test::ScratchFolder folder;
  test::write_bytes(folder / "a.json", test::chrome_text(original, 0));
  test::write_bytes(folder / "b.json", test::chrome_text(original, 1, -3e6));
  const std::vector<std::filesystem::path> files{folder / "a.json", folder / "b.json"};
  const MeasuredRun skewed = import_chrome(files);
  REQUIRE(skewed.notes.size() == 1);
  CHECK_THAT(skewed.notes[0], Catch::Contains("2 passes start before their input arrives") &&
                                  Catch::Contains("2.500 s") && Catch::Contains("--align"));
  // The shortest transfer takes 0.5 s in each direction, so the estimated clock shift is exact.
  const MeasuredRun aligned = import_chrome(files, {.align = true});
  REQUIRE(aligned.notes.size() == 1);
  CHECK_THAT(aligned.notes[0], Catch::Contains("rank 1 by 3.000 s"));
  CHECK(analysis::summarize(aligned.trace).makespan_s == Approx(10));
}
