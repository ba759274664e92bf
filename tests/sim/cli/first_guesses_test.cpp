#include <fstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

// What a first user tries: each command does it, or its error says what to do.
using namespace pipewright;
using Catch::Contains;
using nlohmann::json;

namespace {

const char* const scenario =
    "cluster: dgx-h100-8\nmodel: llama-3-8b\nparallel: {tp: 4, pp: 2}\nglobal_batch: 16\n"
    "engine: timing\n";

const std::string passes = "-s 2 -b 4 -f '1 ms' --backward-times '2 ms' ";

// Keys of a Hugging Face config.json that states no sequence of its training, only a limit.
const char* const hugging_face =
    R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024,
"intermediate_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 16,
"num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 131072,
"rope_scaling": null})";

tests::ProgramResult succeeds(const tests::CommandFolder& place, const std::string& words) {
  tests::ProgramResult ran = place.run(words);
  CAPTURE(words, ran.err);
  REQUIRE(ran.status == 0);
  return ran;
}

void refuses(const tests::CommandFolder& place, const std::string& words,
             const std::string& message) {
  const tests::ProgramResult ran = place.run(words);
  CAPTURE(words, ran.out);
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Contains(message));
}

}  // namespace

TEST_CASE("no output replaces an input of its command", "[cli][output]") {
  const tests::CommandFolder place;
  place.write("job.yaml", scenario);
  place.write("sweep.yaml",
              "cluster: dgx-h100-8\nmodel: llama-3-8b\nparallel: {tp: [4, 8]}\nglobal_batch: 16\n"
              "engine: timing\n");
  const std::string message = ": is an input of this command, so it cannot be an output";
  refuses(place, "run job.yaml --launch megatron:job.yaml", "job.yaml" + message);
  refuses(place, "run job.yaml --launch megatron:./job.yaml", "job.yaml" + message);
  CHECK(place.read("job.yaml") == scenario);
  succeeds(place, "search sweep.yaml -q --results res.h5");
  const std::string results = place.read("res.h5");
  refuses(place, "search res.h5 -q --launch megatron:res.h5", "res.h5" + message);
  refuses(place, "search sweep.yaml -q --reuse res.h5 -o res.h5", "res.h5" + message);
  refuses(place, "search merge res.h5 -o res.h5", "res.h5" + message);
  CHECK(place.read("res.h5") == results);
  // Files that a framework wants beside its script are outputs, too.
  place.write("ds_config.json", scenario);
  refuses(place, "run ds_config.json --set parallel.pp=1 --launch deepspeed:train.sh",
          "ds_config.json" + message);
  CHECK(place.read("ds_config.json") == scenario);
}

TEST_CASE("a missing folder of an output is named before the simulation", "[cli][output]") {
  const tests::CommandFolder place;
  refuses(place, "run " + passes + "-o none/a.html", "none/a.html: the folder none does not exist");
  CHECK(place.run("run " + passes + "-o none/a.html").out.empty());
}

TEST_CASE("a scenario behind an option is the scenario", "[cli][options]") {
  const tests::CommandFolder place;
  place.write("job.yaml", scenario);
  const std::string plain = succeeds(place, "run job.yaml --json").out;
  for (const std::string words :
       {"--json --schedule 1f1b job.yaml", "--json --tp 4 job.yaml", "-o a.json job.yaml --json",
        "--json --set parallel.pp=2 job.yaml", "--cluster dgx-h100-8 job.yaml --json"}) {
    CAPTURE(words);
    CHECK(succeeds(place, "run " + words).out == plain);
  }
  // A file that a command has written is no scenario.
  succeeds(place, "run " + passes + "-o b.json a.json --json");
  refuses(place, "run --set parallel.pp=2 jbo.yaml",
          "--set takes KEY=VALUE, not 'jbo.yaml'; name files before --set");
  place.write("sweep.yaml", std::string(scenario) + "search: {objective: mfu}\n");
  succeeds(place, "search -q -o best.yaml sweep.yaml");
  succeeds(place, "run --trace run.h5 job.yaml");
  CHECK_THAT(succeeds(place, "show -o p.png run.h5").out, Contains("wrote   p.png"));
}

TEST_CASE("a failed write to standard output is an error of every report", "[cli][output]") {
  const tests::CommandFolder place;
  place.write("job.yaml", scenario);
  for (const std::string words :
       {"run job.yaml", "run job.yaml --json", "goodput job.yaml --seeds 2 --only -q",
        "layout job.yaml", "--help", "schedule list"}) {
    const tests::ProgramResult ran = place.run(words + " > /dev/full");
    CAPTURE(words);
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, Contains("standard output: "));
  }
}

TEST_CASE("options of launchers point to what gives the same", "[cli][options]") {
  const tests::CommandFolder place;
  place.write("job.yaml", scenario);
  for (const std::string words :
       {"run job.yaml --nodes 4", "search job.yaml --nodes 4", "goodput job.yaml --num-nodes 4"}) {
    refuses(place, words, "'pipewright platform make --node dgx-h100 --nodes 16 -o cluster.xml'");
    refuses(place, words, "--dp");
  }
  refuses(place, "goodput job.yaml --world-size 64", "give the number of GPUs");
}

TEST_CASE("every command that simulates a scenario takes --schedule", "[cli][options]") {
  const tests::CommandFolder place;
  place.write("job.yaml", std::string(scenario) +
                              "schedule: [1f1b, gpipe]\n"
                              "sites: {count: 2, bandwidth: 10 Gbit/s, every: 50}\n"
                              "rl: {prompts: 8, responses: 2, lengths: {mean: 500, p95: 900}}\n");
  refuses(place, "sites job.yaml", "name one: --schedule 1f1b");
  refuses(place, "rl job.yaml", "name one: --schedule 1f1b");
  for (const std::string command : {"sites", "rl", "layout"})
    succeeds(place, command + " job.yaml --schedule 1f1b");
  const std::string words = "goodput job.yaml --seeds 2 --only";
  CHECK_THAT(succeeds(place, words).err,
             Contains("the scenario has 2 schedules; the figures are those of the first, 1f1b"));
  const tests::ProgramResult single = succeeds(place, words + " --schedule gpipe");
  CHECK_THAT(single.out, Contains("gpipe: "));
  CHECK_THAT(single.err, !Contains("2 schedules"));
}

TEST_CASE("a search says which sequence it assumes", "[cli][sweep]") {
  const tests::CommandFolder place;
  place.write("config.json", hugging_face);
  place.write("sweep.yaml",
              "cluster: dgx-h100-8\nmodel: config.json\nparallel: {tp: [1, 2]}\n"
              "global_batch: 128\nengine: timing\nsymmetric: true\n");
  const std::string note = "sequence: 4096 is assumed, since config.json has no training sequence";
  const std::string text = succeeds(place, "search sweep.yaml -q").out;
  CHECK_THAT(text, Contains("note: model: " + note) && Contains("batch 128 x 4096, throughput\n"));
  const json run = json::parse(succeeds(place, "search sweep.yaml --json --results r.h5").out);
  REQUIRE(run["notes"].size() == 1);
  CHECK_THAT(run["notes"][0].get<std::string>(), Contains(note));
  // Results that are shown again have the same notes.
  CHECK(json::parse(succeeds(place, "search r.h5 --json").out)["notes"] == run["notes"]);
  const std::string words = "search sweep.yaml --set training.sequence=8192 ";
  CHECK_THAT(succeeds(place, words + "-q").out,
             !Contains("note: ") && Contains("batch 128 x 8192, throughput\n"));
  CHECK(json::parse(succeeds(place, words + "--json").out)["notes"].empty());
}

TEST_CASE("a heading of a search has the batch and sequence that candidates share",
          "[cli][sweep]") {
  const tests::CommandFolder place;
  place.write("sweep.yaml",
              "cluster: dgx-h100-8\nmodel: llama-3-8b\nparallel: {tp: 4}\nengine: timing\n"
              "global_batch: [16, 32]\n");
  CHECK_THAT(succeeds(place, "search sweep.yaml -q").out, Contains("samples of 8192 tokens, "));
}

TEST_CASE("a config.json is a model and no scenario", "[cli][model]") {
  const tests::CommandFolder place;
  REQUIRE(place.shell("mkdir hf").status == 0);
  place.write("hf/config.json", hugging_face);
  const std::string rest = " --cluster dgx-h100-8 --global-batch 8 --engine timing --json";
  for (const std::string file : {"hf/config.json", "hf"})
    refuses(place, "run " + file + rest, "use it as the model: --model " + file);
  const std::string run = succeeds(place, "run --model hf/config.json" + rest).out;
  CHECK(succeeds(place, "run --model hf" + rest).out == run);
  refuses(place, "run --model hf/confg.json" + rest, "--model: there is no file 'hf/confg.json'");
  refuses(place, "run --model Qwen/Qwen3-30B-A3B" + rest,
          "--model: there is no file 'Qwen/Qwen3-30B-A3B'; did you mean 'qwen3-30b-a3b'?");
  refuses(place, "run --model qwen3-30b" + rest,
          "--model: 'qwen3-30b' is not among the models of the library; did you mean "
          "'qwen3-30b-a3b'?\n");
}

TEST_CASE("a scenario of the library has a name", "[cli][options]") {
  const tests::CommandFolder place;
  const json runs = json::parse(succeeds(place, "run gpt-6b-a100 --json").out);
  CHECK(runs.is_array());
  // A file of the current folder comes first.
  place.write("gpt-6b-a100", scenario);
  CHECK(succeeds(place, "run gpt-6b-a100 --json").out ==
        succeeds(place, "run ./gpt-6b-a100 --json").out);
}

TEST_CASE("an unknown word is followed by the probable one", "[cli][options]") {
  const tests::CommandFolder place;
  place.write("job.yaml", scenario);
  refuses(place, "runn job.yaml", "no command is called 'runn'; did you mean 'run'?");
  refuses(place, "-v", "did you mean '--version'?");
  refuses(place, "schedule lst", "did you mean 'list'?");
  refuses(place, "run job.yaml --detials", "did you mean '--details'?");
  refuses(place, "run job.yaml --sequence-length 8192", "see --help");
  refuses(place, "run job.yaml --set tp=8", "unknown key 'tp'; did you mean 'parallel.tp'?");
  succeeds(place, "run job.yaml -q");
  refuses(place, "run", "the command needs a scenario; name its file");
  succeeds(place, "run --set model=llama-3-8b cluster=dgx-h100 global_batch=8 parallel.tp=8");
  refuses(place, "run --cluster dgx-h100-8", "neither a model nor times of passes");
}

TEST_CASE("a sequence in thousands is noted", "[cli][run]") {
  const tests::CommandFolder place;
  place.write("job.yaml", scenario);
  CHECK_THAT(succeeds(place, "run job.yaml --set training.sequence=8k").out,
             Contains("training.sequence: 8k is 8000 tokens; 8Ki is 8192"));
  CHECK_THAT(succeeds(place, "run job.yaml --set training.sequence=8Ki").out, !Contains("8Ki is"));
  place.write("sweep.yaml", std::string(scenario) + "training: {sequence: 8k}\n");
  CHECK_THAT(succeeds(place, "search sweep.yaml -q").out,
             Contains("training.sequence: 8k is 8000 tokens; 8Ki is 8192"));
}
