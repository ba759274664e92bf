#include "analysis/measured/launched_kernels.hpp"

#include <catch2/catch.hpp>

#include "analysis/measured/measured_run.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::import_chrome;
using analysis::MeasuredRun;
using test::ChromeText;

namespace {

constexpr int main_thread = 77;
constexpr int autograd_thread = 78;

// F and B of one stage, in microseconds. The CPU marks both on its main thread. The first kernel of
// B is launched there, the others by autograd's thread; the GPU's annotation only covers the first.
ChromeText one_stage() {
  ChromeText text;
  text.add("Forward 0", 0, 300, "user_annotation", 77, main_thread);
  text.add("Backward 0", 300, 900, "user_annotation", 77, main_thread);
  text.launch(10, main_thread, 1000, 20000);
  text.launch(200, main_thread, 22000, 30000);
  text.launch(310, main_thread, 53000, 600);
  text.launch(400, autograd_thread, 54000, 40000);
  text.launch(1100, autograd_thread, 100000, 55000);
  text.add("Forward 0", 1000, 51000);
  text.add("Backward 0", 53000, 600);
  return text;
}

MeasuredRun import_file(const ChromeText& text, const analysis::ImportOptions& options = {}) {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.json", text.text(0));
  return import_chrome({folder / "t.json"}, options);
}

}  // namespace

TEST_CASE("a backward pass lasts as long as the kernels that autograd's thread launched",
          "[import]") {
  const MeasuredRun run = import_file(one_stage());
  REQUIRE(run.trace.passes.size() == 2);
  CHECK(run.notes.empty());
  CHECK(run.trace.passes[0].end - run.trace.passes[0].start == Approx(51e-3));
  CHECK(run.trace.passes[1].end - run.trace.passes[1].start == Approx(102e-3));
}

TEST_CASE("CPU and GPU annotations of a file without a rank belong to one device", "[import]") {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.json", one_stage().text());
  const MeasuredRun run = import_chrome({folder / "t.json"});
  CHECK(run.trace.devices.size() == 1);
  CHECK(run.trace.passes.size() == 2);
}

TEST_CASE("communication kernels are not part of a pass", "[import]") {
  ChromeText text = one_stage();
  text.launch(1150, main_thread, 155000, 30000, "ncclDevKernel_SendRecv(ncclDevKernelArgs)");
  CHECK(import_file(text).trace.passes[1].end == Approx(154e-3));  // Relative to the first kernel.
}

TEST_CASE("kernels belong to the iteration in which the CPU launched them", "[import]") {
  // The GPU runs behind the CPU: it runs the backward pass of the first iteration while the CPU
  // already launches the second iteration.
  ChromeText text;
  for (const int step : {0, 1}) {
    const int step_us = 1000 * step;
    text.add("ProfilerStep#" + std::to_string(step), step_us, 1000, "user_annotation", 77,
             main_thread);
    text.add("Forward 0", step_us + 10, 100, "user_annotation", 77, main_thread);
    text.add("Backward 0", step_us + 110, 100, "user_annotation", 77, main_thread);
    text.launch(step_us + 20, main_thread, 3 * step_us + 500, 1000);
    text.launch(step_us + 120, autograd_thread, 3 * step_us + 1500, 2000);
  }
  const MeasuredRun run = import_file(text);
  CHECK(run.notes.empty());
  CHECK(run.trace.run.iterations == 2);
  CHECK(run.trace.run.microbatches == 1);
  CHECK(run.trace.passes.back().end == Approx(6e-3));
}

TEST_CASE("a note tells if the times are those of launches alone", "[import]") {
  ChromeText text;
  text.add("Forward 0", 0, 300, "user_annotation", 77, main_thread);
  text.add("Backward 0", 300, 900, "user_annotation", 77, main_thread);
  const MeasuredRun run = import_file(text);
  REQUIRE(run.notes.size() == 1);
  CHECK_THAT(run.notes[0], Catch::Contains("rank 0") && Catch::Contains("ProfilerActivity.CUDA"));
}

TEST_CASE("a function inside a function of the same name is part of the same pass", "[import]") {
  // In a profile with Python stacks, Megatron-LM's forward_step contains the forward_step of the
  // training script.
  ChromeText text;
  const std::string file = "megatron/core/pipeline_parallel/schedules.py(300): ";
  text.add("ProfilerStep#4", 0, 2000, "user_annotation", 77, main_thread);
  text.add(file + "forward_step", 10, 400, "python_function", 77, main_thread);
  text.add("pretrain_gpt.py(120): forward_step", 20, 300, "python_function", 77, main_thread);
  text.add(file + "backward_step", 500, 400, "python_function", 77, main_thread);
  text.launch(50, main_thread, 1000, 700);
  text.launch(600, autograd_thread, 1700, 1400);
  const MeasuredRun run = import_file(text, {.category = "python_function"});
  REQUIRE(run.trace.passes.size() == 2);
  CHECK(run.trace.passes[0].end == Approx(700e-6));
  CHECK(run.trace.passes[1].end == Approx(2100e-6));
}
