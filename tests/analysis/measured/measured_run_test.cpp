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

std::string why(const std::string& text, const ImportOptions& options = {}) {
  try {
    import_text(text, options);
    return "";
  } catch (const trace::TraceError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("two ranks of PyTorch's profiler are one run", "[import]") {
  const MeasuredRun run =
      import_chrome({measured_sample("kineto-rank1.json"), measured_sample("kineto-rank0.json")});
  CHECK(run.notes.empty());
  CHECK(run.trace.run.devices == 2);
  CHECK(run.trace.run.microbatches == 2);
  CHECK(run.trace.run.iterations == 2);
  CHECK(run.trace.devices.at(0).host == "rank 0");
  REQUIRE(run.trace.passes.size() == 16);
  // The times are those of the GPU's stream, not those of the launches on the CPU.
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

TEST_CASE("an import gives back the passes of the run that was written", "[import]") {
  const trace::Trace original = test::two_device_run();
  const test::ScratchFolder folder;
  const MeasuredRun run = import_chrome(test::write_chrome(original, folder.path()));
  REQUIRE(run.trace.passes.size() == original.passes.size());
  for (const trace::PassRow& pass : original.passes) {
    const auto same = std::find_if(run.trace.passes.begin(), run.trace.passes.end(),
                                   [&](const trace::PassRow& one) {
                                     return one.stage == pass.stage && one.kind == pass.kind &&
                                            one.microbatch == pass.microbatch;
                                   });
    REQUIRE(same != run.trace.passes.end());
    CHECK(same->device == pass.device);
    CHECK(same->start == Approx(pass.start).margin(1e-9));
    CHECK(same->end == Approx(pass.end));
  }
  CHECK(analysis::summarize(run.trace).bubble_ratio ==
        Approx(analysis::summarize(original).bubble_ratio));
}

TEST_CASE("rows of a measured run make sense as rows of a trace", "[import]") {
  const MeasuredRun run =
      import_chrome({measured_sample("kineto-rank0.json"), measured_sample("kineto-rank1.json")});
  trace::RowChecks checks(run.trace.run);
  for (const auto& row : run.trace.stages) CHECK_FALSE(checks.wrong(row));
  for (const auto& row : run.trace.passes) CHECK_FALSE(checks.wrong(row));
}

TEST_CASE("iterations that warm up are skipped", "[import]") {
  const MeasuredRun run = import_chrome(
      {measured_sample("kineto-rank0.json"), measured_sample("kineto-rank1.json")}, {.skip = 1});
  CHECK(run.trace.run.iterations == 1);
  REQUIRE(run.trace.passes.size() == 8);
  CHECK(run.trace.passes.front().start == 0);
  CHECK_THROWS_WITH(import_chrome({measured_sample("kineto-rank0.json")}, {.skip = 2}),
                    Catch::Contains("skip fewer"));
}

TEST_CASE("without steps the n-th time of a microbatch is iteration n", "[import]") {
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

TEST_CASE("names without numbers are counted", "[import]") {
  ChromeText text;
  for (int i = 0; i < 6; ++i)
    text.add("forward_step", 100 * i, 40).add("backward_step", 100 * i + 50, 45);
  CHECK(import_text(text.text()).trace.run.microbatches == 6);
  const MeasuredRun run = import_text(text.text(), {.microbatches = 3});
  CHECK(run.trace.run.iterations == 2);
  CHECK(run.trace.run.microbatches == 3);
}

TEST_CASE("processes of one file are devices in order of their numbers", "[import]") {
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

TEST_CASE("B beside W is the input gradient, as PyTorch of 2024 wrote", "[import]") {
  ChromeText text;
  text.add("PP:0F0", 0, 10).add("PP:0B0", 10, 10).add("PP:0W0", 20, 10);
  const trace::Trace trace = import_text(text.text()).trace;
  REQUIRE(trace.passes.size() == 3);
  CHECK(trace.passes[1].kind == PassKind::input_grad);
}

TEST_CASE("a fused pair starts and ends together", "[import]") {
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

TEST_CASE("iterations that are not whole are left out and told", "[import]") {
  ChromeText text;
  text.add("PP:0F0", 0, 10).add("PP:0F1", 10, 10).add("PP:0B0", 20, 10).add("PP:0B1", 30, 10);
  text.add("PP:0F0", 40, 10).add("PP:0F1", 50, 10).add("PP:0B0", 60, 10);
  const MeasuredRun run = import_text(text.text());
  CHECK(run.trace.run.iterations == 1);
  REQUIRE(run.notes.size() == 1);
  CHECK_THAT(run.notes[0],
             Catch::Contains("iteration 1") && Catch::Contains("B of microbatch 1 on stage 0"));
}

TEST_CASE("what no run can be is refused", "[import]") {
  CHECK_THAT(why(ChromeText().add("Iteration 3", 0, 1).add("Iteration 3", 2, 1).text()),
             Catch::Contains("no annotation marks a pass") &&
                 Catch::Contains("'Iteration 3' (2 times)") && Catch::Contains("--pattern"));
  CHECK_THAT(why(ChromeText().text()), Catch::Contains("record_function makes them"));
  CHECK_THAT(why(ChromeText().add("gemm", 0, 1, "kernel").text()),
             Catch::Contains("'kernel' (1 times)") && Catch::Contains("--category"));
  CHECK_THAT(why(ChromeText().add("PP:0F0", 0, 10).add("PP:0B0", 5, 10).text()),
             Catch::Contains("overlap") && Catch::Contains("5.00 us"));
  CHECK_THAT(why(ChromeText().add("PP:0F0", 0, 10).add("PP:2F0", 10, 1).text()),
             Catch::Contains("stage 1 of 3 has no forward pass"));
  CHECK_THAT(
      why(ChromeText().add("PP:0F0", 0, 10).add("PP:0B0", 20, 10).add("PP:0B1", 30, 1).text()),
      Catch::Contains("no iteration has all of its passes") &&
          Catch::Contains("F of microbatch 1 on stage 0"));
  CHECK_THAT(why(ChromeText().add("PP:0F0", 0, -1).text()),
             Catch::Contains("'dur'") && Catch::Contains("line 3"));
  CHECK_THAT(
      why(ChromeText()
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
      Catch::Contains("is of rank 0"));
}

TEST_CASE("clocks that contradict each other are told and can be aligned", "[import]") {
  const trace::Trace original = test::two_device_run();
  const test::ScratchFolder folder;
  test::write_bytes(folder / "a.json", test::chrome_text(original, 0));
  test::write_bytes(folder / "b.json", test::chrome_text(original, 1, -3e6));
  const std::vector<std::filesystem::path> files{folder / "a.json", folder / "b.json"};
  const MeasuredRun skewed = import_chrome(files);
  REQUIRE(skewed.notes.size() == 1);
  CHECK_THAT(skewed.notes[0], Catch::Contains("2 passes start before their input is there") &&
                                  Catch::Contains("2.500 s") && Catch::Contains("--align"));
  // Both directions take 0.5 s there, so the shift is found exactly.
  const MeasuredRun aligned = import_chrome(files, {.align = true});
  REQUIRE(aligned.notes.size() == 1);
  CHECK_THAT(aligned.notes[0], Catch::Contains("rank 1 by 3.000 s"));
  CHECK(analysis::summarize(aligned.trace).makespan_s == Approx(10));
}
