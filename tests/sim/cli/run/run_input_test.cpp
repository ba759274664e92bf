#include <csignal>
#include <regex>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/guard.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

// Tests the errors of `run` if sizes contradict each other, and how it describes the job.

using namespace pipewright;
using nlohmann::json;

namespace {

// Returns the options that an error message suggests, for instance those of "allowed: chunks 7, or
// pp 14 or 15, or partition by_cost".
std::vector<std::string> offers(const std::string& error) {
  std::vector<std::string> options;
  std::string words = error.substr(error.find("allowed: ") + 9);
  std::string key;
  const std::regex word("[^ ,\n]+");
  for (std::sregex_iterator next(words.begin(), words.end(), word), end; next != end; ++next) {
    const std::string text = next->str();
    if (text == "or") continue;
    if (text == "pp") key = "-s";
    if (text == "dp" || text == "tp" || text == "cp" || text == "chunks" || text == "partition")
      key = "--" + text;
    else if (text != "pp")
      options.push_back(key + " " + text);
  }
  return options;
}

// Replaces an option of a command line, or adds it.
std::string changed(std::string words, const std::string& option) {
  const std::string name = option.substr(0, option.find(' ') + 1);
  const std::size_t at = words.find(name);
  if (at == std::string::npos) return words + " " + option;
  return words.replace(at, words.find(' ', at + name.size()) - at, option);
}

constexpr auto on_64 = " --cluster small.xml --quiet ";

void make_small(const tests::CommandFolder& place) {
  REQUIRE(place.run("platform make --node dgx-h100 --nodes 8 -o small.xml").status == 0);
}

}  // namespace

TEST_CASE("a layout larger than the cluster is refused with sizes that fit", "[run]") {
  const tests::CommandFolder place;
  make_small(place);
  const tests::ProgramResult ran =
      place.run(std::string("run --model llama-3-70b -s 4 --tp 8 --dp 3 -b 8") + on_64);
  CHECK(ran.status == 2);
  CHECK(ran.err ==
        "pipewright: --dp: tp 8 x cp 1 x pp 4 x dp 3 = 96 GPUs, but small.xml has 64; allowed: dp "
        "1 or 2\n");
  // Even one replica needs too many GPUs, so another pp is offered instead of another dp.
  CHECK_THAT(place.run(std::string("run --model llama-3-70b -s 16 --tp 8 -b 8") + on_64).err,
             Catch::EndsWith("allowed: pp 7 or 8\n"));
  // Size 2 is not offered, because the job would need more GPUs than the cluster has.
  CHECK_THAT(
      place.run(std::string("run --model llama-3-70b -s 4 --tp 8 --dp 2 --cp 3 -b 8") + on_64).err,
      Catch::EndsWith("allowed: a divisor, such as 1\n"));
}

TEST_CASE("sizes offered for layers that do not divide into stages all run", "[run]") {
  const tests::CommandFolder place;
  const std::string words = GENERATE(
      as<std::string>(), "--model llama-3-405b -s 16 --chunks 8 -b 16 --schedule interleaved-1f1b",
      "--model deepseek-v3 -s 64 -b 4 --schedule 1f1b",
      "--model llama-3-70b -s 4 --chunks 21 -b 8 --schedule interleaved-1f1b",
      "--model llama-3-8b -s 6 --partition ends_less -b 8 --schedule 1f1b",
      "--model llama-3-8b -s 6 --chunks 2 --partition ends_less -b 12 --schedule interleaved-1f1b",
      // The head has the weights of 2.4 layers, and so leaves the last two of 30 stages no layer.
      "--model llama-3-8b -s 30 --partition by_weights -b 8 --schedule 1f1b",
      "--model llama-3-8b -s 20 -b 8 --schedule zb-v");
  CAPTURE(words);
  const auto run = [&](const std::string& all_words) {
    return place.run("run " + all_words + " --gpu h100-sxm --engine timing --quiet");
  };
  const tests::ProgramResult ran = run(words);
  INFO(ran.err);
  REQUIRE(ran.status == 2);
  const std::vector<std::string> offered = offers(ran.err);
  CHECK(!offered.empty());
  for (const std::string& option : offered) {
    const tests::ProgramResult offered_run = run(changed(words, option));
    INFO(option << ": " << offered_run.err);
    CHECK(offered_run.status == 0);
  }
}

TEST_CASE("ends_less is checked for the actual number of stages", "[run]") {
  const tests::CommandFolder place;
  // With ends_less, the two ends count as a layer each. 70 + 2 layers divide into 12 stages, but
  // not into 5 x 3 = 15 or 4 x 4.
  place.write("m.yaml", "layers: 70\nhidden: 256\nheads: 8\nvocabulary: 1000\nsequence: 128\n");
  const std::string words =
      "run --model ./m.yaml --gpu h100-sxm -s 5 -b 10 --schedule interleaved-1f1b --partition "
      "ends_less --quiet --chunks ";
  CHECK_THAT(place.run(words + "3").err, Catch::Contains("15 stages (5 devices x 3 chunks)") &&
                                             Catch::Contains("allowed: pp 4"));
}

TEST_CASE("a scenario can come through a pipe", "[run]") {
  const tests::CommandFolder place;
  place.write("s.yaml", "devices: 4\nmicrobatches: 8\nforward_times: 1\nbackward_times: 2\n");
  const std::string program = std::string(PIPEWRIGHT_PROGRAM) + " run ";
  for (const std::string words : {"- --json", "-c /dev/stdin --json", "-c - --json -o a.csv"}) {
    const tests::ProgramResult ran = place.shell("cat s.yaml | " + program + words);
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    CHECK(json::parse(ran.out)["makespan_s"] == 33);
  }
}

TEST_CASE("outputs describe the job", "[run]") {
  const tests::CommandFolder place;
  const std::string words =
      "run --model llama-3-8b --gpu h100-sxm -s 2 --tp 4 --sp --dp 2 --zero 1 --global-batch 16 "
      "--microbatch-size 2 --recompute-activations full --partition by_cost --quiet ";
  const tests::ProgramResult ran = place.run(words + "-o a.csv a.json");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK_THAT(
      ran.out,
      Catch::StartsWith(
          "Llama 3 8B on 16 H100 SXM (ideal network) with megatron-core: tp 4 + sp, pp 2, dp 2 + "
          "ZeRO-1, "
          "batch 16 x 8192, microbatch 2, partition by_cost, bf16, recompute full\n\n"));
  CHECK_THAT(
      place.run(words + "--details").out,
      Catch::Contains("\nllama-3-8b on h100-sxm, stack megatron-core, tp 4, sp, pp 2, dp 2, zero "
                      "1, batch 16 of "
                      "8192 tokens, microbatch 2, partition by_cost, bf16, recompute full\n\n"));
  const json job = json::parse(place.read("a.json"))["job"];
  CHECK(job == json{{"model", "llama-3-8b"},
                    {"gpu", "h100-sxm"},
                    {"stack", "megatron-core"},
                    {"tp", 4},
                    {"tp_by_device", ""},
                    {"cp", 1},
                    {"ep", 1},
                    {"etp", 4},
                    {"dp", 2},
                    {"replicate", 1},
                    {"gtp", 1},
                    {"expert_gtp", 1},
                    {"pp", 2},
                    {"sp", true},
                    {"zero", 1},
                    {"global_batch_samples", 16},
                    {"microbatch_samples", 2},
                    {"sequence_tokens", 8192},
                    {"precision", "bf16"},
                    {"cuda_graphs", "none"},
                    {"flash_attention", true},
                    {"recompute", "full"},
                    {"offload", "none"},
                    {"optimizer", "adam"},
                    {"trained", ""},
                    {"partition", "by_cost"},
                    {"symmetric", false},
                    {"lengths", ""},
                    {"padding", 0},
                    {"dispatch", ""},
                    {"routing", ""},
                    {"uneven", 0},
                    {"straddling", ""},
                    {"outside_record", ""}});
  CHECK_THAT(place.read("a.csv"),
             Catch::Contains(",model,gpu,stack,tp,cp,ep,dp,pp,zero,") &&
                 Catch::Contains(",llama-3-8b,h100-sxm,megatron-core,4,1,1,2,2,1,16,2,8192,"
                                 "full,bf16,none,none,true,"));
  CHECK_THAT(place.run(words + "--symmetric --details").out,
             Catch::Contains("replica 0 of 2 is shown; one replica of each kind was simulated\n"));
}

TEST_CASE("pass times that exceed the GPU's peak are noted", "[run]") {
  const tests::CommandFolder place;
  const std::string words =
      "run --model llama-3-8b --gpu h100-sxm -s 2 -b 4 --quiet --backward-times 0 -f ";
  CHECK_THAT(place.run(words + "0.001").out, Catch::Contains("is more than the GPUs can do"));
  CHECK(place.run(words + "9").out.find("more than the GPUs can do") == std::string::npos);
}

TEST_CASE("a key that is set twice is refused", "[run]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run(
      "run -s 4 -f 1 --backward-times 2 --set microbatches=1 "
      "microbatches=2");
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::Contains("--set microbatches: is given twice"));
}

TEST_CASE("unknown names of a platform file are refused with a suggestion", "[run]") {
  const tests::CommandFolder place;
  make_small(place);
  const std::string words = "run --model llama-3-8b -s 2 -b 4 --quiet ";
  CHECK_THAT(place
                 .run(words + "--cluster small.xml --set 'variation.slow_links={link: "
                              "leaf-0-0_lnk_0, factor: 0.5}'")
                 .err,
             Catch::StartsWith("pipewright: --set variation.slow_links: small.xml: has no link") &&
                 Catch::Contains("did you mean 'leaf-0-0_link_0'? allowed: names such as ") &&
                 Catch::Contains(" (nic)"));
  REQUIRE(place.shell("sed 's/h100-sxm/h100/' small.xml > typo.xml").status == 0);
  CHECK_THAT(place.run(words + "--cluster typo.xml").err,
             Catch::Contains("typo.xml: host 'node-0-gpu-0' has the property gpu: 'h100' is not "
                             "among the gpus") &&
                 Catch::Contains("did you mean 'h100-sxm'?"));
}

TEST_CASE("a signal ends work that does not look at the flag", "[run]") {
  const pid_t child = fork();
  if (child == 0) {
    cli::watch_for_interrupts(1);
    std::raise(SIGTERM);
    for (;;) pause();  // planning that does not look at the flag
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
}

TEST_CASE("work that looks at the flag can clean up", "[run]") {
  const pid_t child = fork();
  if (child == 0) {
    cli::watch_for_interrupts(1);
    std::raise(SIGTERM);
    try {
      cli::throw_if_interrupted();
    } catch (const cli::Interrupted&) {
      _exit(alarm(0) == 0 ? 42 : 43);  // nothing is to end it any more
    }
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 42);
}
