#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/program.hpp"

using namespace pipewright;
using Catch::Contains;

namespace {

const std::string passes = "-s 4 -b 8 -f '1 ms' --backward-times '2 ms' ";

void complains(const tests::CommandFolder& place, const std::string& words,
               const std::string& what) {
  const tests::ProgramResult ran = place.run(words);
  CAPTURE(words, ran.out);
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err, Contains(what));
}

}  // namespace

TEST_CASE("files that are no scenarios are recognised", "[run]") {
  const tests::CommandFolder place;
  place.write("cluster.xml", "<?xml version='1.0'?>\n<platform version='4.1'/>\n");
  place.write("sweep.yaml",
              "model: llama-3-8b\ncluster: dgx-h100\nglobal_batch: 64\nsearch: {objective: mfu}\n");
  place.write("tab.yaml", "devices: 4\nparallel:\n\ttp: 2\n");
  complains(place, "run cluster.xml", "cluster.xml: the file is XML, as clusters are (--cluster)");
  complains(place, "run sweep.yaml", "sweep.yaml:4:9: the section search makes this file a sweep");
  complains(place, "run tab.yaml", "tab.yaml:3:1: a tab indents this line");
  for (const char* const kind : {"h5", "svg", "png", "pdf", "html"}) {
    const std::string file = std::string("a.") + kind;
    REQUIRE(place.run("run " + passes + (file == "a.h5" ? "--trace " : "-o ") + file).status == 0);
    complains(place, "run " + file,
              file + ": the file is " +
                  (file == "a.h5"     ? "an HDF5 file, as traces and results of searches are"
                   : file == "a.html" ? "a page (HTML)"
                                      : "a picture ("));
  }
}

TEST_CASE("times of passes have a unit each, or none", "[run]") {
  const tests::CommandFolder place;
  complains(place, "run -s 4 -b 8 -f '1 ms' --backward-times 2",
            "backward_times has 2 without a unit, but another pass takes 1 ms");
  complains(place, "run -s 2 -b 8 -f 1 '18 ms' --backward-times 2", "write the unit");
  CHECK(place.run("run -s 4 -b 8 -f '1 ms' --backward-times 0").status == 0);
  CHECK(place.run("run -s 4 -b 8 -f 1 --backward-times 2 --p2p-time '1 ms'").status == 0);
}

TEST_CASE("numbers take the scales of SI", "[run]") {
  const tests::CommandFolder place;
  const auto tokens = [&](const std::string& sequence) {
    const tests::ProgramResult ran = place.run(
        "run --model llama-3-8b --gpu h100-sxm -s 1 -b 1 --engine timing --json --set "
        "training.sequence=" +
        sequence);
    CAPTURE(sequence, ran.err);
    REQUIRE(ran.status == 0);
    return nlohmann::json::parse(ran.out)["job"]["sequence_tokens"].get<int>();
  };
  CHECK(tokens("8k") == 8000);
  CHECK(tokens("8Ki") == 8192);
  CHECK(tokens("1.5k") == 1500);
  CHECK(tokens("0.008M") == 8000);
  complains(place, "run " + passes + "--set microbatches=0.5", "a whole number from 1");
  complains(place, "run " + passes + "--set microbatches=1.2345k", "a whole number from 1");
  complains(place, "run " + passes + "--set microbatches=8x", "a whole number from 1");
}

TEST_CASE("other programs' spellings are recognised", "[run]") {
  const tests::CommandFolder place;
  complains(place, "run " + passes + "--schedule 1F1B", "did you mean '1f1b'?");
  complains(place, "run " + passes + "--schedule Interleaved1F1B",
            "did you mean 'interleaved-1f1b'?");
  complains(place, "run " + passes + "--recompute full", "--recompute-activations full");
}

TEST_CASE("a note says that a single chunk interleaves nothing", "[run]") {
  const tests::CommandFolder place;
  const std::string words = "run " + passes + "--schedule interleaved-1f1b --chunks ";
  CHECK_THAT(place.run(words + "1").out, Contains("with one chunk per device interleaves nothing"));
  CHECK(place.run(words + "2").out.find("interleaves nothing") == std::string::npos);
}

TEST_CASE("a note says which rule of its stack a job breaks, and what to do", "[run]") {
  const tests::CommandFolder place;
  const std::string words =
      "run --model llama-3-8b --gpu h100-sxm -s 1 -b 4 --engine timing --set ";
  const std::string interleaved = words + "schedule.chunks=2 schedule.name=interleaved-1f1b";
  const std::string note =
      "note: interleaved-1f1b: megatron-core refuses this job: interleaved stages need a pp of at "
      "least 2, and pp is 1; use one chunk, or a larger pp\n";
  CHECK_THAT(place.run(interleaved).out, Contains(note));
  CHECK_THAT(place.run(interleaved + " devices=2").out, !Contains("refuses"));
  CHECK_THAT(place.run(interleaved + " 'stack.rules=[]'").out, !Contains("refuses"));
  // A rule of the layout is noted once, whatever the schedules.
  CHECK_THAT(place.run(words + "parallel.tp=2 stack=llm-foundry 'schedule=[1f1b, gpipe]'").out,
             Contains("note: llm-foundry refuses this job: there is no tensor parallelism, and tp "
                      "is 2; set parallel.tp to 1\n"));
}

TEST_CASE("a note says that a named stack lacks a schedule", "[run]") {
  const tests::CommandFolder place;
  const std::string words =
      "run --model llama-3-8b --gpu h100-sxm -s 2 -b 4 --engine timing --schedule zb-h1";
  CHECK_THAT(place.run(words).out, !Contains("refuses"));
  CHECK_THAT(
      place.run(words + " --stack megatron-core").out,
      Contains("note: zb-h1: megatron-core refuses this job: its pipelines do not run zb-h1; "
               "allowed: 1f1b, interleaved-1f1b\n"));
  CHECK_THAT(
      place.run(words + " --stack torchtitan --set devices=1").out,
      Contains("refuses this job: zb-h1 needs a pipeline, and pp is 1; allowed: 1f1b, gpipe, "
               "or a larger pp\n"));
  CHECK_THAT(place.run(words + " --stack torchtitan").out, !Contains("refuses"));
}

TEST_CASE("a note says that graphs of whole mixtures of experts need padded buffers", "[run]") {
  const tests::CommandFolder place;
  const std::string words =
      "run --model mixtral-8x7b --gpu h200 -s 1 -b 4 --engine timing --set "
      "training.cuda_graphs='[attn, moe]'";
  CHECK_THAT(place.run(words).out,
             Contains("note: megatron-core refuses this job: a graph of moe needs experts that "
                      "drop tokens and pad their buffers, and model.experts.capacity_factor is not "
                      "set; "));
  CHECK_THAT(place.run(words + " model.experts.capacity_factor=1").out, !Contains("refuses"));
}

TEST_CASE("idle nodes are noted, with the dp that uses them", "[run]") {
  const tests::CommandFolder place;
  // dgx-h100 has four nodes of eight GPUs.
  const std::string words =
      "run --cluster dgx-h100 --model llama-3-8b --global-batch 8 --set parallel.tp=8 "
      "parallel.pp=2 ";
  CHECK_THAT(
      place.run(words).out,
      Contains("note: the job takes 16 of 32 GPUs: 2 of 4 nodes are idle; parallel.dp is 1, 2 "
               "would use all GPUs\n"));
  CHECK(place.run(words + "parallel.dp=2").out.find("idle") == std::string::npos);
  // Three nodes of idle GPUs, but a batch of 8 samples has no three equal parts.
  const std::string odd =
      "run --cluster dgx-h100 --model llama-3-8b --global-batch 6 --set parallel.tp=8 ";
  CHECK_THAT(place.run(odd).out, Contains("3 of 4 nodes are idle\n"));
}

TEST_CASE("keys of FSDP without effect are noted", "[run]") {
  const tests::CommandFolder place;
  const auto notes = [&](const std::string& keys) {
    const tests::ProgramResult ran = place.run(
        "run --model llama-3-8b --cluster dgx-h100 --set global_batch=16 parallel.shard=4 " + keys +
        " --json");
    CAPTURE(keys);
    REQUIRE(ran.status == 0);
    return ran.err;
  };
  CHECK_THAT(notes("parallel.unshard_lookahead=by_rank parallel.reshard_after_forward=false"),
             Contains("parallel.unshard_lookahead has no effect: it is for stages of a pipeline, "
                      "and parallel.pp is 1"));
  CHECK_THAT(notes("parallel.gather_ahead=1000 parallel.pp=2"),
             Contains("parallel.gather_ahead has no effect: FSDP gathers whole stages"));
  CHECK_THAT(notes("parallel.gather_ahead=1000"), !Contains("has no effect"));
}

TEST_CASE("the option --pp sets the number of devices under either key", "[run]") {
  const tests::CommandFolder place;
  const auto devices = [&](const std::string& words) {
    const tests::ProgramResult ran =
        place.run("run " + words + " -b 8 -f 1 --backward-times 2 --json");
    CAPTURE(words, ran.err);
    REQUIRE(ran.status == 0);
    return nlohmann::json::parse(ran.out).at("num_stages").get<int>();
  };
  place.write("devices.yaml", "devices: 2\n");
  place.write("parallel.yaml", "parallel: {pp: 2}\n");
  CHECK(devices("--pp 4") == 4);
  CHECK(devices("devices.yaml --pp 4") == 4);
  CHECK(devices("parallel.yaml --pp 4") == 4);
  CHECK(devices("parallel.yaml -s 4") == 4);
}

TEST_CASE("a layout takes the options of a run", "[layout]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran =
      place.run("layout --model llama-3-8b --cluster dgx-h100 --tp 4 --pp 2 -b 8");
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Contains("tp 4 x pp 2"));
}

TEST_CASE("a run of absurd size is refused at once", "[run]") {
  const tests::CommandFolder place;
  complains(place, "run -s 4 -b 2147483640 -f 1 --backward-times 2",
            "passes are more than the 268435456 that are supported");
}

TEST_CASE("a run prints the cost of a number of tokens", "[run]") {
  const tests::CommandFolder place;
  const std::string job =
      "run --model llama-3-8b --cluster dgx-h100 --tp 8 --global-batch 8 --schedule 1f1b --quiet ";
  const tests::ProgramResult json =
      place.run(job + "--json --tokens 300B --price '2.5 EUR' --power 700 100");
  REQUIRE(json.status == 0);
  const nlohmann::json run = nlohmann::json::parse(json.out);
  const double seconds = 300e9 / run.at("tokens_per_s").get<double>();
  CHECK(run.at("train_time_s").get<double>() == Approx(seconds));
  CHECK(run.at("gpu_hours").get<double>() == Approx(seconds * 8 / 3600));
  CHECK(run.at("price").get<double>() == Approx(seconds * 8 / 3600 * 2.5));
  CHECK(run.at("energy_j").get<double>() < seconds * 8 * 700);
  CHECK(run.at("energy_j").get<double>() > seconds * 8 * 100);
  // Without --power, the power in the GPU file is used.
  CHECK_THAT(place.run(job + "--tokens 300B").out, Contains("energy") && Contains("300 B tokens"));
  complains(place, job + "--price 2", "--price needs --tokens");
  complains(place, "run " + passes + "--tokens 1B", "--tokens needs a model");
}
