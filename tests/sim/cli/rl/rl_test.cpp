#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using nlohmann::json;
using pipewright::tests::CommandFolder;
using pipewright::tests::ProgramResult;

namespace {

const std::string scenario =
    "cluster: dgx-h100-8\nmodel: llama-3-8b\nparallel: {pp: 2, dp: 4}\n"
    "training: {sequence: 4096, recompute: full}\n"
    "rl: {prompts: 32, responses: 8, prompt_tokens: 200, lengths: {mean: 900, p95: 2600}}\n";

json result_of(const CommandFolder& place, const std::string& words) {
  const ProgramResult ran = place.run("rl job.yaml --json " + words);
  CAPTURE(words, ran.err);
  REQUIRE(ran.status == 0);
  return json::parse(ran.out);
}

double changed_step(const json& report, const std::string& start) {
  for (const json& variant : report["variants"])
    if (variant["name"].get<std::string>().starts_with(start)) return variant["step_s"];
  FAIL("no variant " + start);
  return 0;
}

}  // namespace

TEST_CASE("the phases of an on-policy step add up to the step", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const json report = result_of(place, "--set rl.overhead=3s rl.reference=true");
  double sum = 0;
  for (const char* phase : {"generation_s", "forward_s", "training_s", "sync_s", "overhead_s"})
    sum += report[phase].get<double>();
  CHECK(sum == Approx(report["step_s"].get<double>()));
  CHECK(report["overhead_s"] == 3);
  const json without = result_of(place, "--set rl.overhead=3s");
  CHECK(report["forward_s"].get<double>() == Approx(2 * without["forward_s"].get<double>()));
  CHECK(changed_step(report, "no tail") < report["step_s"].get<double>());
  CHECK(changed_step(report, "longer tail") > report["step_s"].get<double>());
}

TEST_CASE("off policy, the time of each pool of GPUs adds up to the step", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const std::string words = "--set rl.mode=one-off rl.rollout.gpus=8 rl.overhead=1s";
  const json report = result_of(place, words);
  const double step = report["step_s"];
  CHECK(report["least_engine_busy"].get<double>() <= report["engines_busy"].get<double>());
  CHECK(report["most_engine_busy"].get<double>() >= report["engines_busy"].get<double>());
  const ProgramResult ran = place.run("rl job.yaml --quiet " + words);
  REQUIRE(ran.status == 0);
  std::map<std::string, int> percent;  // by pool
  std::istringstream lines(ran.out);
  std::string line;
  while (std::getline(lines, line) && !line.starts_with("GPUs of")) continue;
  while (std::getline(lines, line) && !line.empty()) {
    const std::size_t end = line.find(" %");
    percent[line.substr(0, line.find(' '))] +=
        std::stoi(line.substr(line.rfind(' ', end - 1), end));
  }
  // Each share is rounded to a whole percent.
  CHECK(std::abs(percent["training"] - 100) <= 2);
  CHECK(std::abs(percent["generation"] - 100) <= 2);
  CHECK(report["training_s"].get<double>() + report["forward_s"].get<double>() + 1 <= step);
}

TEST_CASE("a loop says by how much a longest length changes the mean of the responses", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const auto notes_of = [&](const std::string& words) {
    return result_of(place, words)["notes"].dump();
  };
  const std::string lengths = "--set rl.lengths.mean=1500 rl.lengths.p95=3000 rl.lengths.longest=";
  CHECK_THAT(
      notes_of(lengths + "2000"),
      Catch::Contains("of the responses are cut at 2000 tokens, rl.lengths.longest: the mean "
                      "of the drawn responses is "));
  CHECK_THAT(notes_of("--set 'rl.lengths={documents: [1000, 2000]}'"), !Catch::Contains("cut at"));
  const json cut = result_of(place, lengths + "2000");
  CHECK(cut["mean_response_tokens"].get<double>() < 1400);
}

TEST_CASE("training of a step is an iteration of run on its documents", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  // All sequences fill a sample: 256 samples of 4,096 tokens, in four updates of 64.
  const json loop = result_of(place, "--set 'rl.lengths={documents: [3896]}' rl.updates=4");
  const ProgramResult ran = place.run(
      "run job.yaml --json --global-batch 64 --set 'training.lengths={documents: [4096]}'");
  REQUIRE(ran.status == 0);
  const double iteration = json::parse(ran.out)["makespan_s"];
  CHECK(loop["training_s"].get<double>() == Approx(4 * iteration));
}

TEST_CASE("a table of measured points replaces the model of decoding", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  // 32 responses of 1,000 tokens on each of 8 engines, 100 steps a second.
  const json report = result_of(place,
                                "--set 'rl.lengths={documents: [1000]}' "
                                "'rl.rollout.table=[{batch: 32, tokens_per_s: 3200}]'");
  const double prefill = report["generation_s"].get<double>() - 10;
  CHECK(prefill > 0);
  CHECK(prefill < 0.5);
  CHECK(report["generation_is_measured"] == true);
}

TEST_CASE("divisions of GPUs keep the layout but for the replicas", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const json report = result_of(place, "--set rl.mode=one-off rl.rollout.gpus=8 --split 16");
  const json& splits = report["splits"];
  REQUIRE(splits.size() == 7);  // 2, 4 .. 14 GPUs train
  for (const json& split : splits) {
    CHECK(split["training_gpus"].get<int>() + split["rollout_gpus"].get<int>() == 16);
    if (split["training_gpus"] == 8) CHECK(split["step_s"] == report["step_s"]);
  }
}

TEST_CASE("rl names what a loop lacks", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const auto [words, expected] = GENERATE(table<std::string, std::string>({
      {"--set rl.mode=async rl.rollout.gpus=8",
       "rl.mode is async, which needs a lag; give the number of steps"},
      {"--set rl.mode=one-off", "on-policy if generation and training take turns"},
      {"--set rl.lengths.packing=cut", "unknown key 'packing' in rl.lengths; allowed: file, "},
      {"--set rl.lag=2", "left out unless mode is async"},
      {"--set rl.rollout.tp=3", "rl.rollout.tp is 3, with 8 GPUs"},
      {"--set rl.rollout.gpus=100 rl.mode=one-off", "but 'dgx-h100-8' has 64 GPUs"},
      {"--set rl.lengths.longest=8000 rl.lengths.p95=3400", "set training.sequence to"},
      {"--set rl.lengths.longest=900", "rl.lengths.mean is 900, but no length exceeds longest"},
      {"--model llama-3-405b --set parallel.tp=8", "use engines of more GPUs: rl.rollout.tp"},
      {"--model mamba-2-2.7b", "rl.rollout.table"},
      {"--set training.lengths.mean=900 training.lengths.p95=2000", "leave out training.lengths"},
  }));
  const ProgramResult ran = place.run("rl job.yaml " + words);
  CAPTURE(words);
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::Contains(expected));
  CHECK(ran.out.empty());
}

// Steps of NeMo-RL v0.4 on DGX H100 (docs/about/performance-summary.md of
// github.com/NVIDIA-NeMo/RL): model, layout, GPUs of the engines, tp of the engines, tokens of a
// sequence in the mean and at most, prompts of 32 responses, updates, seconds. The spread of the
// lengths is not published.
TEST_CASE("published steps take longer than predicted, and mostly in the predicted order", "[rl]") {
  struct Published {
    const char* model;
    const char* parallel;
    int rollout_gpus;
    int tp;
    int mean;
    int longest;
    int prompts;
    double seconds;
    double predicted = 0;
  };
  std::vector<Published> rows{
      {"llama-3-8b", "pp: 2, dp: 8", 0, 1, 1060, 4096, 64, 97.7},
      {"llama-3-8b", "pp: 2, dp: 4", 8, 1, 1129, 4096, 64, 74.6},
      {"qwen3-30b-a3b", "tp: 2, ep: 8, etp: 1, dp: 16, sp: true", 0, 4, 3154, 4096, 64, 225},
      {"qwen3-30b-a3b", "ep: 8, pp: 2, dp: 8", 16, 2, 3158, 4096, 64, 244},
      {"qwen3-32b", "tp: 4, pp: 4, dp: 2, sp: true", 0, 4, 3206, 4096, 64, 393},
      {"qwen3-32b", "tp: 4, pp: 4, dp: 2, sp: true", 32, 4, 3207, 4096, 64, 215},
      {"qwen3-235b-a22b", "tp: 2, cp: 2, ep: 16, etp: 1, pp: 8, dp: 4, sp: true", 0, 16, 5671, 8192,
       16, 506},
      {"qwen3-235b-a22b", "tp: 4, ep: 16, etp: 1, pp: 8, dp: 4, sp: true", 128, 8, 5691, 8192, 16,
       241},
      {"deepseek-v3", "ep: 16, pp: 16, dp: 16", 0, 32, 745, 1536, 16, 154},
      {"deepseek-v3", "ep: 16, pp: 16, dp: 16", 256, 32, 744, 1536, 16, 77.9},
  };
  const CommandFolder place;
  REQUIRE(place.run("platform make --node dgx-h100 --nodes 64 -o h100.xml").status == 0);
  constexpr int prompt = 150;
  for (Published& row : rows) {
    const int response = row.mean - prompt;
    place.write("job.yaml",
                fmt::format("cluster: h100.xml\nmodel: {}\nparallel: {{{}, zero: 1}}\n"
                            "training: {{sequence: {}, recompute: full}}\n"
                            "rl:\n  prompts: {}\n  responses: 32\n  prompt_tokens: {}\n"
                            "  lengths: {{mean: {}, p95: {}, longest: {}}}\n  updates: {}\n"
                            "  rollout: {{tp: {}{}}}\n  mode: {}\n",
                            row.model, row.parallel, row.longest, row.prompts, prompt, response,
                            std::min(row.longest - prompt, response * 26 / 10),
                            row.longest - prompt, row.prompts / 16, row.tp,
                            row.rollout_gpus > 0 ? fmt::format(", gpus: {}", row.rollout_gpus) : "",
                            row.rollout_gpus > 0 ? "one-off" : "on-policy"));
    row.predicted = result_of(place, "")["step_s"];
    CAPTURE(row.model, row.rollout_gpus, row.predicted);
    CHECK(row.seconds > 1.2 * row.predicted);
    CHECK(row.seconds < 4.5 * row.predicted);
  }
  int pairs = 0;
  int in_order = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      ++pairs;
      in_order +=
          (rows[i].seconds < rows[j].seconds) == (rows[i].predicted < rows[j].predicted) ? 1 : 0;
    }
  CHECK(pairs == 45);
  CHECK(in_order >= 36);
}

TEST_CASE("a loop is written as a page and as a picture of its pools", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult ran =
      place.run("rl job.yaml --quiet --set rl.reference=true -o rl.html rl.svg rl.json");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK_THAT(ran.out, Catch::Contains("wrote   rl.svg\n"));
  const std::string page = place.read("rl.html");
  for (const char* heading : {"Pools of GPUs", "Time of a step", "What a change does"})
    CHECK_THAT(page, Catch::Contains(fmt::format("<h2>{}</h2>", heading)));
  CHECK_THAT(page, Catch::Contains("reference model"));
  CHECK(json::parse(place.read("rl.json"))["reference_s"].get<double>() > 0);
  CHECK_THAT(place.read("rl.svg"), Catch::StartsWith("<?xml"));
}

TEST_CASE("the page of a loop shows divisions, and is the same each time", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const std::string words =
      "rl job.yaml --quiet --set rl.mode=one-off rl.rollout.gpus=8 --split 16 -o ";
  REQUIRE(place.run(words + "a.html").status == 0);
  REQUIRE(place.run(words + "b.html").status == 0);
  CHECK_THAT(place.read("a.html"), Catch::Contains("<h2>Division of the GPUs</h2>"));
  CHECK(place.read("a.html") == place.read("b.html"));
}

TEST_CASE("a loop has no table of comma-separated values", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult ran = place.run("rl job.yaml -o rl.csv");
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Catch::Contains("allowed: .html (page), .svg, .png, .pdf (picture), .json"));
}

TEST_CASE("notes of a loop count both pools and name no bubble", "[rl]") {
  const CommandFolder place;
  place.write("job.yaml", scenario);
  const ProgramResult ran = place.run("rl job.yaml --set rl.rollout.gpus=56 rl.mode=one-off");
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK_THAT(ran.err, !Catch::Contains("idle") && !Catch::Contains("bubble"));
  CHECK_THAT(ran.err, Catch::Contains("up to 2 batches generate at once"));
  CHECK_THAT(place.run("rl job.yaml --set rl.rollout.gpus=8").err,
             Catch::Contains("the job takes 16 of 64 GPUs: 6 of 8 nodes are idle"));
}
