#include "analysis/measured/logs/training_log.hpp"

#include <catch2/catch.hpp>

#include "analysis/trace/error.hpp"
#include "tests/analysis/measured/chrome_samples.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::LogIteration;
using analysis::read_training_log;
using analysis::TrainingLog;

namespace {

TrainingLog read_text(const std::string& text) {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.log", text);
  return read_training_log(folder / "t.log");
}

}  // namespace

TEST_CASE("a Megatron-LM log has iterations and timers over all ranks", "[import]") {
  const TrainingLog log = read_training_log(test::measured_sample("megatron.log"));
  REQUIRE(log.runs.at(0).iterations.size() == 3);
  CHECK(log.runs.at(0).iterations[0].number == 1);
  CHECK(log.runs.at(0).iterations[0].elapsed_s.value() == Approx(0.090));
  REQUIRE(log.runs.at(0).iterations[2].timers.size() == 4);
  CHECK(log.runs.at(0).iterations[2].timers.at("forward-backward").least_s == Approx(0.033));
  CHECK(log.runs.at(0).iterations[2].timers.at("forward-backward").most_s == Approx(0.037));
  CHECK(log.runs.at(0).iterations[2].timers.at("optimizer").of_rank.empty());
}

TEST_CASE("timers of each rank are read behind a launcher's prefix", "[import]") {
  const TrainingLog log = read_training_log(test::measured_sample("megatron-all.log"));
  REQUIRE(log.runs.at(0).iterations.size() == 2);
  const auto& timer = log.runs.at(0).iterations[1].timers.at("forward-compute");
  REQUIRE(timer.of_rank.size() == 8);
  CHECK(timer.of_rank.at(7) == Approx(9.6e-3));
  CHECK(timer.least_s == Approx(8e-3));
  CHECK(timer.most_s == Approx(9.6e-3));
}

TEST_CASE("a Megatron-DeepSpeed log has joined words and maximum times alone", "[import]") {
  const TrainingLog log = read_text(
      "[INFO] -  iteration=      12/  635782 | consumed_samples= 768 | "
      "elapsed_time_per_iteration_ms=29570.0 | lm loss=11.1 |\n"
      "max time across ranks (ms):\n    optimizer ......: 3.50\nsomething else: 4\n");
  REQUIRE(log.runs.at(0).iterations.size() == 1);
  CHECK(log.runs.at(0).iterations[0].number == 12);
  CHECK(log.runs.at(0).iterations[0].elapsed_s.value() == Approx(29.57));
  CHECK(log.runs.at(0).iterations[0].timers.at("optimizer").most_s == Approx(3.5e-3));
}

TEST_CASE("a log without iterations or with invalid times is refused", "[import]") {
  CHECK_THROWS_WITH(read_text("hello\n"), Catch::Contains("elapsed time per iteration"));
  CHECK_THROWS_WITH(read_text(" iteration 1/ 2 | elapsed time per iteration (ms): nan |\n"),
                    Catch::Contains(": line 1: ") && Catch::Contains("is not a number"));
  CHECK_THROWS_WITH(read_text("iteration x | elapsed time per iteration (ms): 1 |\n"),
                    Catch::Contains("has no number"));
}

TEST_CASE("the older timer line of Megatron-LM is read", "[import]") {
  const TrainingLog log = read_text(
      "time (ms) | model-and-optimizer-setup: 971.92 | train/valid/test-data-iterators-setup: 1\n"
      "3:  iteration        1/    1000 | elapsed time per iteration (ms): 430.0 | loss: 1 |\n"
      "3: time (ms) | forward-compute: 53.79 | forward-recv: 38.38 | backward-compute: 138.84 | "
      "optimizer: 49.42\n");
  REQUIRE(log.runs.size() == 1);
  const LogIteration& iteration = log.runs[0].iterations.at(0);
  CHECK(iteration.timers.at("forward-compute").most_s == Approx(53.79e-3));
  CHECK(iteration.timers.at("backward-compute").least_s == Approx(138.84e-3));
  CHECK(iteration.timers.at("optimizer").most_s == Approx(49.42e-3));
}

TEST_CASE("a falling iteration number starts a new run", "[import]") {
  const auto iteration = [](int number, int ms) {
    return " iteration " + std::to_string(number) +
           "/ 100 | elapsed time per iteration (ms): " + std::to_string(ms) + ".0 |\n";
  };
  const TrainingLog log = read_text(iteration(1, 10) + iteration(2, 11) + iteration(1, 20) +
                                    iteration(2, 21) + iteration(3, 22));
  REQUIRE(log.runs.size() == 2);
  CHECK(log.runs[0].iterations.size() == 2);
  CHECK(log.runs[1].iterations.size() == 3);
  CHECK(log.runs[1].iterations[0].elapsed_s.value() == Approx(20e-3));
}

TEST_CASE("memory reports of Megatron-LM are read by rank", "[import]") {
  const TrainingLog log = read_text(
      "[Rank 4] (after 1 iterations) memory (MB) | allocated: 200.5 | max allocated: 300.25 | "
      "reserved: 400.0 | max reserved: 512.0\n"
      " iteration 1/ 9 | elapsed time per iteration (ms): 10.0 |\n"
      "[Rank 0] (after 1 iterations) memory (MB) | allocated: 100 | max allocated: 150 | "
      "reserved: 160 | max reserved: 170\n");
  const auto& memory = log.runs.at(0).memory;
  REQUIRE(memory.size() == 2);
  constexpr double mib = 1024.0 * 1024;
  CHECK(memory.at(4).allocated.value() == 200.5 * mib);
  CHECK(memory.at(4).peak_allocated.value() == 300.25 * mib);
  CHECK(memory.at(0).peak_reserved.value() == 170 * mib);
}

TEST_CASE("a Primus log has means and rates per GPU", "[import]") {
  const TrainingLog log = read_text(
      "[20251121 12:10:29][rank-31/32][INFO ] [-trainer.py:2488] :  iteration      125/   360 | "
      "elapsed time per iteration (ms): 2701.3/2712.7 | hip mem usage/free/total/usage_ratio: "
      "227.35GB/28.63GB/255.98GB/88.81% | throughput per GPU (TFLOP/s/GPU): 210.5/217.3 | tokens "
      "per GPU (tokens/s/GPU): 12130.4/12525.5 | lm loss: 2.3 |\n");
  const LogIteration& iteration = log.runs.at(0).iterations.at(0);
  CHECK(iteration.number == 125);
  CHECK(iteration.elapsed_s.value() == Approx(2.7013));
  CHECK(iteration.flops_per_gpu.value() == Approx(210.5e12));
  CHECK(iteration.tokens_per_gpu_s.value() == Approx(12130.4));
}

TEST_CASE("DeepSpeed steps are read with and without timers", "[import]") {
  const TrainingLog timed = read_text(
      "[INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd_microstep: 60.5 | bwd_microstep: "
      "110.0 | step_microstep: 30.0\n"
      "[INFO] [Rank 0] time (ms) | fwd: 120.0 | bwd: 220.0 | bwd_inner: 200.0 | step: 30.0\n"
      "[INFO] [Rank 0] time (ms) | fwd: 100.0 | bwd: 200.0 | bwd_inner: 180.0 | step: 20.0\n");
  REQUIRE(timed.runs.at(0).iterations.size() == 2);
  CHECK(timed.runs[0].iterations[0].elapsed_s.value() == Approx(0.370));
  CHECK(timed.runs[0].iterations[1].elapsed_s.value() == Approx(0.320));
  CHECK(timed.runs[0].iterations[1].timers.at("bwd").most_s == Approx(0.200));

  const TrainingLog pipeline =
      read_text("steps: 10 loss: 5.5508 lm loss: 5.5 iter time (s): 0.936 samples/sec: 136.706\n");
  CHECK(pipeline.runs.at(0).iterations.at(0).number == 10);
  CHECK(pipeline.runs[0].iterations[0].elapsed_s.value() == Approx(0.936));
  CHECK(pipeline.runs[0].iterations[0].samples_per_s.value() == Approx(136.706));

  const TrainingLog rates = read_text(
      "[INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec="
      "25.0, CurrSamplesPerSec=25.7, MemAllocated=4.32GB, MaxMemAllocated=38.49GB\n");
  CHECK(rates.runs.at(0).iterations.at(0).number == 10);
  CHECK(rates.runs[0].iterations[0].samples_per_s.value() == Approx(25.7));
  CHECK_FALSE(rates.runs[0].iterations[0].elapsed_s.has_value());
  CHECK(rates.runs[0].memory.at(0).peak_allocated.value() == Approx(38.49 * 1073741824));
}

TEST_CASE("timers of a Megatron-DeepSpeed log belong to the iteration below them", "[import]") {
  const TrainingLog log = read_text(
      "[Rank 0] time (ms) | fwd: 65.0 | bwd: 179.0 | step: 11.0\n"
      " iteration        7/  317 | elapsed time per iteration (ms): 258.1 | lm loss: 1 |\n"
      "[Rank 0] time (ms) | fwd: 66.0 | bwd: 178.0 | step: 11.0\n"
      " iteration        8/  317 | elapsed time per iteration (ms): 257.1 | lm loss: 1 |\n");
  REQUIRE(log.runs.at(0).iterations.size() == 2);
  CHECK(log.runs[0].iterations[0].elapsed_s.value() == Approx(0.2581));
  CHECK(log.runs[0].iterations[1].timers.at("fwd").most_s == Approx(0.066));
}

TEST_CASE("NeMo steps are read from lines and from a progress bar", "[import]") {
  const TrainingLog lines = read_text(
      "Training epoch 0, iteration 0/249 | lr: 1.9e-06 | global_batch_size: 8 | global_step: 0 | "
      "reduced_train_loss: 1.315 | train_step_timing in s: 7.126\n"
      "Training epoch 0, iteration 1/249 | global_step: 1 | train_step_timing in s: 2.505 | "
      "consumed_samples: 16\n");
  REQUIRE(lines.runs.at(0).iterations.size() == 2);
  CHECK(lines.runs[0].iterations[1].elapsed_s.value() == Approx(2.505));
  const TrainingLog bar = read_text(
      "Epoch 0:  98%|#| 98/100 [10:40<00:00, global_step=97.00, train_step_timing in s=3.200]\r"
      "Epoch 0:  99%|#| 99/100 [10:44<00:00, global_step=98.00, train_step_timing in s=3.150]\r"
      "Epoch 0: 100%|#| 100/100 [10:48<00:00, global_step=98.00, train_step_timing in s=3.130]\n");
  REQUIRE(bar.runs.at(0).iterations.size() == 2);
  CHECK(bar.runs[0].iterations[0].number == 97);
  CHECK(bar.runs[0].iterations[1].elapsed_s.value() == Approx(3.130));
}

TEST_CASE("torchtitan steps are read in colours and from several ranks", "[import]") {
  const TrainingLog log = read_text(
      "[rank0]:[titan] 2024-12-05 10:00:00,000 - root - INFO - \x1b[31mstep:  1  "
      "\x1b[32mloss: 12.2  \x1b[33mmemory: 31.50GiB(39.77%)  \x1b[34mtps: 6,547  "
      "\x1b[36mtflops: 1,342.10  \x1b[35mmfu: 34.59%\x1b[39m\n"
      "[rank3]:[titan] 2024-12-05 10:00:00,000 - root - INFO - step:  1  loss: 12.2  grad_norm: "
      "1.0  memory: 20.00GiB(25.00%)  tps: 6,548  tflops: 342.10  mfu: 34.59%\n");
  REQUIRE(log.runs.size() == 1);
  REQUIRE(log.runs[0].iterations.size() == 1);
  const LogIteration& iteration = log.runs[0].iterations[0];
  CHECK(iteration.tokens_per_gpu_s.value() == 6547);
  CHECK(iteration.flops_per_gpu.value() == Approx(1342.1e12));
  CHECK(log.runs[0].memory.at(0).peak_reserved.value() == Approx(31.5 * 1073741824));
  CHECK(log.runs[0].memory.at(3).peak_reserved.value() == Approx(20.0 * 1073741824));
}
