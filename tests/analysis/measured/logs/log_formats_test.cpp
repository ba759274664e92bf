#include <string>

#include <catch2/catch.hpp>

#include "analysis/measured/formats.hpp"
#include "analysis/measured/logs/training_log.hpp"
#include "analysis/trace/error.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::LoggedTraining;
using analysis::LogIteration;

namespace {

// Reads a log with one run, and checks that its kind is recognised.
LoggedTraining run_of(const std::string& text) {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.log", text);
  CHECK(analysis::file_kind(folder / "t.log") == analysis::FileKind::training_log);
  const auto log = analysis::read_training_log(folder / "t.log");
  REQUIRE(log.runs.size() == 1);
  REQUIRE_FALSE(log.runs[0].iterations.empty());
  return log.runs[0];
}

// Returns the text in lines of at most `width` characters, as `fold` prints them.
std::string folded(const std::string& text, std::size_t width) {
  std::string lines;
  std::size_t column = 0;
  for (const char c : text) {
    if (column == width && c != '\n') {
      lines += '\n';
      column = 0;
    }
    lines += c;
    column = c == '\n' ? 0 : column + 1;
  }
  return lines;
}

// Returns the text as `fold -s` prints it, which breaks lines behind blanks.
std::string folded_at_blanks(const std::string& text, std::size_t width) {
  std::string lines;
  std::string line;
  for (const char c : text) {
    line += c;
    if (c == '\n') {
      lines += line;
      line.clear();
    } else if (line.size() > width) {
      const std::size_t blank = line.rfind(' ', width - 1);
      lines += line.substr(0, blank + 1) + '\n';
      line = line.substr(blank + 1);
    }
  }
  return lines + line;
}

std::string megatron_line(int iteration, double ms) {
  return " [2024-04-06 03:00:" + std::to_string(10 + iteration) + "] iteration " +
         std::to_string(iteration) +
         "/     100 | consumed samples:         " + std::to_string(128 * iteration) +
         " | elapsed time per iteration (ms): " + std::to_string(ms).substr(0, 6) +
         " | throughput per GPU (TFLOP/s/GPU): 239.6 | learning rate: 1.140000E-05 | global batch "
         "size:   128 | loss scale: 1.0 |\n";
}

}  // namespace

TEST_CASE("lines of DLLogger have the steps of NeMo", "[import]") {
  const LoggedTraining run = run_of(
      R"(DLLL {"timestamp": "1733239212.6", "elapsedtime": "171.8", "type": "LOG", "step": 26, "data": {"reduced_train_loss": 6.33, "global_step": 26, "consumed_samples": 27648, "train_backward_timing in s": 0.00004, "train_step_timing in s": 2.7396, "epoch": 0}}
DLLL {"timestamp": "1733239215.4", "elapsedtime": "174.5", "type": "LOG", "step": 27, "data": {"global_step": 27, "consumed_samples": 28672, "train_step_timing in s": 2.7404, "epoch": 0}}
)");
  REQUIRE(run.iterations.size() == 2);
  CHECK(run.iterations[0].number == 26);
  CHECK(run.iterations[0].elapsed_s.value() == Approx(2.7396));
  CHECK(run.iterations[1].batch_samples.value() == 28672 - 27648);

  // The backend for terminals writes pairs with a blank before the colon.
  const LoggedTraining terminal = run_of(
      "DLL 2024-12-03 07:20:12.681539 - 5 global_step : 5 train_step_timing in s : 3.5  epoch : 0\n"
      "DLL 2024-12-03 07:20:16.181539 - 6 global_step : 6 train_step_timing in s : 3.4  epoch : "
      "0\n");
  CHECK(terminal.iterations.at(1).number == 6);
  CHECK(terminal.iterations[1].elapsed_s.value() == Approx(3.4));

  // Lines without global_step have the step of DLLogger.
  CHECK(run_of(R"(0: DLLL {"type": "LOG", "step": 7, "data": {"train_step_timing in s": 1.25}})")
            .iterations[0]
            .number == 7);
}

TEST_CASE("a log of MaxText has seconds, and rates of a device", "[import]") {
  const LoggedTraining run = run_of(
      "completed step: 4, seconds: 4.200, TFLOP/s/device: 310.500, Tokens/s/device: 7801.905, "
      "total_weights: 262144, loss: 9.101\n"
      "I0101 00:00:01.123456 1 metric_logger.py:190] completed step: 5, seconds: 4.100, "
      "TFLOP/s/device: 318.073, Tokens/s/device: 7992.195, total_weights: 262144, loss: 9.050\n");
  REQUIRE(run.iterations.size() == 2);
  CHECK(run.iterations[0].number == 4);
  CHECK(run.iterations[1].elapsed_s.value() == Approx(4.1));
  CHECK(run.iterations[1].flops_per_gpu.value() == Approx(318.073e12));
  CHECK(run.iterations[1].tokens_per_gpu_s.value() == Approx(7992.195));
  // Elastic training prints no tokens.
  CHECK(run_of("completed step: 8, seconds: 0.500, TFLOP/s/device: 43.4, loss: 2.7\n")
            .iterations[0]
            .elapsed_s.value() == Approx(0.5));
}

TEST_CASE("a log of nanotron has rounded numbers with a letter", "[import]") {
  const std::string prefix = "10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0|node-1]: ";
  const LoggedTraining run = run_of(
      prefix +
      "iteration: 10 / 100 | consumed_tokens: 2.1M | elapsed_time_per_iteration_ms: 11.5K | "
      "tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K | global_batch_size: 64 | lm_loss: "
      "2.38 | lr: 1e-05 | model_tflops_per_gpu: 38.3 | hardware_tflops_per_gpu: 38.3 | grad_norm: "
      "1.25 | cuda_memory_allocated: 75.2M | cuda_max_memory_reserved: 5.47G\n" +
      prefix +
      "iteration: 11 / 100 | consumed_tokens: 2.3M | elapsed_time_per_iteration_ms: 945 | "
      "tokens_per_sec_per_gpu: 138K | model_tflops_per_gpu: 401\n");
  REQUIRE(run.iterations.size() == 2);
  CHECK(run.iterations[0].number == 10);
  CHECK(run.iterations[0].elapsed_s.value() == Approx(11.5));
  CHECK(run.iterations[0].tokens_per_gpu_s.value() == Approx(11400));
  CHECK(run.iterations[0].flops_per_gpu.value() == Approx(38.3e12));
  CHECK(run.iterations[1].elapsed_s.value() == Approx(0.945));
  CHECK(run.memory.at(0).allocated.value() == Approx(75.2e6));
  CHECK(run.memory.at(0).peak_reserved.value() == Approx(5.47e9));
  // Later versions have a shorter name.
  CHECK(run_of(prefix + "iteration: 3 / 9 | time_per_iteration_ms: 1.25K | tokens_per_sec: 1M\n")
            .iterations[0]
            .elapsed_s.value() == Approx(1.25));
}

TEST_CASE("a log of InternEvo has tokens per second of a GPU", "[import]") {
  const std::string prefix =
      "2024-05-01 10:00:00,500\tINFO pipeline.py:600 in record_current_batch_training_metrics -- ";
  const LoggedTraining run =
      run_of(prefix +
             "tflops=190.25 step=5 loss=9.1 tgs (tokens/gpu/second)=4100.2 tgs/last_tgs_1=4100.3 "
             "tgs/tgs_all=3000.0 tgs/tgs_avg=3000.1 lr=4e-05 fwd_bwd_time=3.9\n" +
             "2024-05-01 10:00:04,500\tINFO pipeline.py:600 -- tflops=191.5 step=6 loss=9.0 tgs "
             "(tokens/gpu/second)=4110.0 tgs/tgs_all=3100.0 fwd_bwd_time=3.8\n");
  REQUIRE(run.iterations.size() == 2);
  CHECK(run.iterations[0].number == 5);
  CHECK(run.iterations[0].tokens_per_gpu_s.value() == Approx(4100.2));
  CHECK(run.iterations[0].flops_per_gpu.value() == Approx(190.25e12));
  // The lines are 4 s apart.
  CHECK(run.iterations[1].elapsed_s.value() == Approx(4.0));
  REQUIRE(run.remarks.size() == 1);
  CHECK_THAT(run.remarks[0], Catch::Contains("time stamps"));
  // InternLM separates pairs by commas.
  CHECK(run_of("tflops=63.2,step=0,loss=11.5,tgs (tokens/gpu/second)=1523.4,lr=4e-07\n")
            .iterations[0]
            .tokens_per_gpu_s.value() == Approx(1523.4));
}

TEST_CASE("a log of the training of BLOOM has seconds", "[import]") {
  const LoggedTraining run = run_of(
      "[default7]: iteration       12/  115311 | consumed samples:        24576 | consumed tokens: "
      " "
      "   50331648 | elapsed time per iteration (s): 104.50 | learning rate: 1.2E-06 | global "
      "batch "
      "size:  2048 | lm loss: 7.1E+00 | samples per second: 19.598 | TFLOPs: 150.25 |\n");
  CHECK(run.iterations[0].number == 12);
  CHECK(run.iterations[0].elapsed_s.value() == Approx(104.5));
  CHECK(run.iterations[0].samples_per_s.value() == Approx(19.598));
  CHECK(run.iterations[0].flops_per_gpu.value() == Approx(150.25e12));
  CHECK(run.iterations[0].batch_samples.value() == 2048);
  // GPT-NeoX has the samples per second in front, and the FLOP/s with their unit.
  const LoggedTraining neox = run_of(
      " samples/sec: 12.345 | iteration       10/  100 | elapsed time per iteration (ms): 5185.0 | "
      "learning rate: 1E-06 | approx flops per GPU: 120.5TFLOPS | lm_loss: 9.1 |\n");
  CHECK(neox.iterations[0].elapsed_s.value() == Approx(5.185));
  CHECK(neox.iterations[0].samples_per_s.value() == Approx(12.345));
  CHECK(neox.iterations[0].flops_per_gpu.value() == Approx(120.5e12));
  // Megatron-Bridge has the FLOP/s in the line before.
  const LoggedTraining bridge = run_of(
      "Step Time : 5.42s GPU utilization: 383.4MODEL_TFLOP/s/GPU\n"
      " iteration  5/ 100 | consumed samples: 640 | elapsed time per iteration (ms): 5420.0 |\n");
  REQUIRE(bridge.iterations.size() == 1);
  CHECK(bridge.iterations[0].flops_per_gpu.value() == Approx(383.4e12));
}

TEST_CASE("means over the run of DeepSpeed become samples per second of an interval", "[import]") {
  // 64 samples a step. The mean leaves out the first two steps: at step 10, 8 steps took 32 s with
  // a mean of 16 samples/s; at step 20, 18 steps took 52 s. So steps 11 to 20 took 2 s each.
  const LoggedTraining run = run_of(
      "[2022-03-11 02:06:58,985] [INFO] [logging.py:69:log_dist] [Rank 0] step=10, skipped=0, "
      "lr=[5e-05], mom=[[0.9, 0.999]]\n"
      "[2022-03-11 02:06:58,985] [INFO] [timer.py:189:stop] 0/10, SamplesPerSec=16.0, "
      "MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n"
      "[2022-03-11 02:07:18,985] [INFO] [logging.py:69:log_dist] [Rank 0] step=20, skipped=0, "
      "lr=[5e-05], mom=[[0.9, 0.999]]\n"
      "[2022-03-11 02:07:18,985] [INFO] [timer.py:189:stop] 0/20, "
      "SamplesPerSec=22.153846153846153, MemAllocated=0.26GB, MaxMemAllocated=9.02GB\n");
  REQUIRE(run.iterations.size() == 2);
  CHECK(run.iterations[0].samples_per_s.value() == Approx(16));
  CHECK(run.iterations[1].samples_per_s.value() == Approx(32));
  CHECK(run.iterations[1].elapsed_s.value() == Approx(2));
  CHECK(run.memory.at(0).peak_allocated.value() == Approx(9.02 * 1073741824));
}

TEST_CASE("time stamps of steps tell the time if nothing else does", "[import]") {
  const LoggedTraining run = run_of(
      "[2023-06-01 10:00:00,250] [INFO] [Rank 0] step=10, skipped=0, lr=[5e-05], mom=[(0.9, "
      "0.95)]\n"
      "[2023-06-01 10:00:15,250] [INFO] [Rank 0] step=20, skipped=0, lr=[5e-05], mom=[(0.9, "
      "0.95)]\n"
      "[2023-06-01 10:00:31,250] [INFO] [Rank 0] step=30, skipped=0, lr=[5e-05], mom=[(0.9, "
      "0.95)]\n");
  REQUIRE(run.iterations.size() == 3);
  CHECK_FALSE(run.iterations[0].elapsed_s.has_value());
  CHECK(run.iterations[1].elapsed_s.value() == Approx(1.5));
  CHECK(run.iterations[2].elapsed_s.value() == Approx(1.6));
  // Whole seconds do not tell the time of a short iteration.
  CHECK_THROWS_WITH(run_of("[2023-06-01 10:00:00] step=1, skipped=0, lr=[5e-05]\n"
                           "[2023-06-01 10:00:02] step=2, skipped=0, lr=[5e-05]\n"),
                    Catch::Contains("no line gives the time"));
  // A month ends between these lines.
  CHECK(run_of("2024-02-29 23:59:59,000 step=1, skipped=0, lr=[5e-05]\n"
               "2024-03-01 00:00:01,500 step=2, skipped=0, lr=[5e-05]\n")
            .iterations[1]
            .elapsed_s.value() == Approx(2.5));
}

TEST_CASE("the progress bar of Hugging Face's Trainer gives iteration times", "[import]") {
  const LoggedTraining run = run_of(
      "Loading checkpoint shards: 100%|##########| 4/4 [10:05<00:00,  1.30s/it]\n"
      "  0%|          | 0/200 [00:00<?, ?it/s]\r  0%|          | 1/200 [00:09<30:00,  9.05s/it]\r"
      "  1%|#         | 2/200 [00:13<20:00,  6.00s/it]\n"
      "{'loss': 2.1, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.01}\n"
      "  2%|#         | 3/200 [00:17<15:00,  4.21s/it]\n"
      "100%|##########| 13/13 [00:05<00:00,  2.40it/s]\n"
      "100%|##########| 200/200 [14:00<00:00,  4.20s/it]\n"
      "{'train_runtime': 840.5, 'train_samples_per_second': 7.6, 'train_steps_per_second': 0.238, "
      "'train_loss': 1.9, 'epoch': 1.0}\n");
  REQUIRE(run.iterations.size() == 4);
  CHECK(run.iterations[0].number == 1);
  CHECK(run.iterations[0].elapsed_s.value() == Approx(9.05));
  CHECK(run.iterations[2].elapsed_s.value() == Approx(4.21));
  CHECK(run.iterations[3].number == 200);

  const LoggedTraining fast = run_of(
      "0: [default0]:  50%|#####     | 500/1000 [1:00:00<1:00:00,  2.50it/s, loss=1.2]\n"
      "0: [default0]:  51%|#####     | 510/1000 [1:00:04<59:56,  2.00it/s, loss=1.2]\n");
  CHECK(fast.iterations.at(0).elapsed_s.value() == Approx(0.4));
  CHECK(fast.iterations.at(1).elapsed_s.value() == Approx(0.5));
}

TEST_CASE("means at the end of Hugging Face's Trainer are the last resort", "[import]") {
  const LoggedTraining output = run_of(
      "{'loss': 2.1, 'learning_rate': 1e-05, 'epoch': 0.5}\n"
      "{'train_runtime': '840.5', 'train_samples_per_second': '7.6', 'train_steps_per_second': "
      "'0.25', 'train_loss': 1.9, 'epoch': 1.0}\n");
  REQUIRE(output.iterations.size() == 1);
  CHECK(output.iterations[0].elapsed_s.value() == Approx(4));
  CHECK(output.iterations[0].samples_per_s.value() == Approx(7.6));
  CHECK_THAT(output.remarks.at(0), Catch::Contains("means over the whole run"));

  const LoggedTraining state = run_of(
      "{\n  \"best_metric\": null,\n  \"epoch\": 1.0,\n  \"global_step\": 200,\n  \"log_history\": "
      "[\n"
      "    {\n      \"epoch\": 0.5,\n      \"loss\": 2.1,\n      \"step\": 100\n    },\n    {\n"
      "      \"epoch\": 1.0,\n      \"step\": 200,\n      \"total_flos\": 1e+18,\n      "
      "\"train_runtime\": 400.0,\n      \"train_samples_per_second\": 16.0,\n      "
      "\"train_steps_per_second\": 0.5\n    }\n  ]\n}\n");
  CHECK(state.iterations[0].elapsed_s.value() == Approx(2));
  CHECK(state.iterations[0].samples_per_s.value() == Approx(16));
}

TEST_CASE("the mean time of ms-swift becomes that of an interval", "[import]") {
  // 10 iterations take 120 s, 20 iterations 200 s: 12 s each, then 8 s each.
  const LoggedTraining run = run_of(
      "{'loss': 1.5, 'iteration': '10/100', 'elapsed_time': '2m 0s', 'remaining_time': '18m 0s', "
      "'train_speed(s/it)': 12.0}\n"
      "{'loss': 1.4, 'iteration': '20/100', 'elapsed_time': '3m 20s', 'remaining_time': '13m 20s', "
      "'train_speed(s/it)': 10.0}\n");
  REQUIRE(run.iterations.size() == 2);
  CHECK(run.iterations[0].elapsed_s.value() == Approx(12));
  CHECK(run.iterations[1].elapsed_s.value() == Approx(8));
}

TEST_CASE("torchtitan's lines of 2024 have words per second", "[import]") {
  const LoggedTraining run = run_of(
      "[rank0]:2024-08-15 10:00:00,000 - root - INFO - step: 10  loss:  8.1001  memory: "
      "22.42GiB(23.61%)  wps: 6,547  mfu: 34.59%\n"
      "[rank0]:2024-08-15 10:00:25,000 - root - INFO - step: 20  loss:  7.5001  memory: "
      "22.42GiB(23.61%)  wps: 16,553  mfu: 35.02%\n");
  REQUIRE(run.iterations.size() == 2);
  CHECK(run.iterations[0].tokens_per_gpu_s.value() == 6547);
  CHECK(run.iterations[1].tokens_per_gpu_s.value() == 16553);
  CHECK(run.iterations[1].elapsed_s.value() == Approx(2.5));
  CHECK(run.memory.at(0).peak_reserved.value() == Approx(22.42 * 1073741824));
}

TEST_CASE("lines that a terminal wrapped are joined", "[import]") {
  std::string text;
  for (int i = 1; i <= 6; ++i) text += megatron_line(i, 5400 + i);
  for (const std::size_t width : {60UL, 72UL, 80UL, 97UL, 100UL, 132UL}) {
    CAPTURE(width);
    for (const std::string& wrapped : {folded(text, width), folded_at_blanks(text, width)}) {
      const LoggedTraining run = run_of(wrapped);
      REQUIRE(run.iterations.size() == 6);
      for (int i = 1; i <= 6; ++i) {
        const LogIteration& iteration = run.iterations[static_cast<std::size_t>(i) - 1];
        CHECK(iteration.number == static_cast<std::uint64_t>(i));
        CHECK(iteration.elapsed_s.value() == Approx(5.4 + i * 1e-3));
        CHECK(iteration.flops_per_gpu.value() == Approx(239.6e12));
        CHECK(iteration.batch_samples.value() == 128);
      }
    }
  }
}

TEST_CASE("lines of equal length are not joined", "[import]") {
  std::string text;
  for (int i = 1; i <= 6; ++i)
    text += " iteration        " + std::to_string(i) +
            "/     100 | elapsed time per iteration (ms): 100.0 |\n";
  CHECK(run_of(text).iterations.size() == 6);
}

TEST_CASE("colours, prefixes and line ends of Windows do not hide an iteration", "[import]") {
  const std::string line = "step: 10  loss: 8.1  memory: 22.42GiB(23.61%)  tps: 6,547  mfu: 34.59%";
  const auto colored = [](const std::string& escape) {
    return escape + "[31mstep: 10  " + escape + "[32mloss: 8.1  " + escape +
           "[1;33mmemory: 22.42GiB(23.61%)  " + escape + "[34mtps: 6,547  " + escape +
           "[35mmfu: 34.59%" + escape + "[0m";
  };
  for (const std::string& text :
       {line, "0: " + line, "[default0]:" + line, "[1,0]<stdout>:" + line, line + "\r",
        colored("\x1b"), colored("^["), colored("\\x1b"), colored("\\u001b"), colored("\\033"),
        colored("#033"), colored("")}) {
    CAPTURE(text);
    const LoggedTraining run = run_of("start\n" + text + "\nend\n");
    CHECK(run.iterations[0].number == 10);
    CHECK(run.iterations[0].tokens_per_gpu_s.value() == 6547);
    CHECK(run.memory.at(0).peak_reserved.value() == Approx(22.42 * 1073741824));
  }
}

TEST_CASE("messages name the line of a fault", "[import]") {
  CHECK_THROWS_WITH(run_of("start\n\n iteration 1/ 2 | elapsed time per iteration (s): x |\nend\n"),
                    Catch::Contains(": line 3: ") && Catch::Contains("is not a number"));
  CHECK_THROWS_WITH(run_of("elapsed time per iteration (ms): 5.0 | iteration 1\n"),
                    Catch::Contains(": line 1: ") && Catch::Contains("has no number"));
  const auto second = [] {
    const test::ScratchFolder folder;
    test::write_bytes(folder / "t.log", megatron_line(1, 10) + "other\n" + megatron_line(2, 10) +
                                            "other\n" + megatron_line(1, 10));
    return analysis::read_training_log(folder / "t.log").runs.at(1).line;
  };
  CHECK(second() == 5);
}

TEST_CASE("a log without times says what was looked for", "[import]") {
  const test::ScratchFolder folder;
  test::write_bytes(folder / "t.log", "epoch 1 loss 2.0\nepoch 2 loss 1.9\n");
  CHECK_THROWS_WITH(analysis::file_kind(folder / "t.log"),
                    Catch::Contains("unknown format") &&
                        Catch::Contains("'elapsed time per iteration (ms)': Megatron-LM") &&
                        Catch::Contains("'completed step:' with 'seconds:': MaxText"));
  CHECK_THROWS_WITH(analysis::read_training_log(folder / "t.log"),
                    Catch::Contains("no line gives the time of an iteration or a rate") &&
                        Catch::Contains("'tps:' with 'step:': torchtitan"));
}
