#include <filesystem>

#include <catch2/catch.hpp>

#include "sim/cli/job_scenario.hpp"
#include "sim/cli/options.hpp"
#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

const std::string data = PIPEWRIGHT_TEST_DATA "/jobs/";

}  // namespace

TEST_CASE("an imported job is a scenario that runs like the job", "[cli][jobs]") {
  const tests::CommandFolder place;
  const tests::ProgramResult written =
      place.run("import " + data + "moe.sh --cluster dgx-h100-8 -o scenario.yaml");
  CAPTURE(written.err);
  CHECK(written.status == 0);
  CHECK_THAT(written.out, Catch::Contains("not understood: " + data + "moe.sh:") &&
                              Catch::Contains("--some-new-flag 3") &&
                              Catch::Contains("wrote   scenario.yaml"));
  const std::string quick = " --engine timing --json --quiet";
  const tests::ProgramResult scenario = place.run("run scenario.yaml" + quick);
  const tests::ProgramResult job = place.run("run " + data + "moe.sh --cluster dgx-h100-8" + quick);
  CAPTURE(scenario.err, job.err);
  CHECK(scenario.status == 0);
  CHECK(scenario.out == job.out);
  CHECK_THAT(place.run("import " + data + "moe.sh").out,
             Catch::Contains("  ep: 8                             # --expert-model-parallel-size 8 "
                             "(line 13)") &&
                 Catch::Contains("# not understood: --some-new-flag 3 (15)"));
}

TEST_CASE("the error of a job without a cluster lists the clusters that fit", "[cli][jobs]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran = place.run("run " + data + "moe.sh");
  CHECK(ran.status == 2);
  CHECK_THAT(ran.err,
             Catch::Contains("the cluster is unknown; give --cluster X, such as one with 64 "
                             "GPUs: ") &&
                 Catch::Contains("dgx-h100-8 (64 h100-sxm)") && !Catch::Contains("dgx-h100 (32"));
  const tests::ProgramResult named =
      place.run("run " + data + "config_DGXH100_16x8x32xtp4pp8cp1.sh");
  CHECK_THAT(named.err, Catch::Contains("no cluster of the library has 128 h100") &&
                            Catch::Contains("platform make --node dgx-h100 --nodes 16"));
}

TEST_CASE("the error of an incomplete job names the missing keys", "[cli][jobs]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("run " + data + "functional.yaml --cluster dgx-h100").err,
             Catch::Contains("the number of GPUs is unknown; give --dp"));
  CHECK(place.run("run " + data + "functional.yaml --cluster dgx-h100 --dp 4 --engine timing")
            .status == 0);
  place.write("open.sh",
              "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size 512 "
              "--num-attention-heads 8 --micro-batch-size 1\n");
  CHECK_THAT(place.run("import open.sh").err,
             Catch::Contains("open.sh:1:") &&
                 Catch::Contains("give it on the command line, as in LAYERS=8"));
  CHECK(place.run("import open.sh LAYERS=4").status == 0);
  place.write("notes.txt", "nothing of a job\n");
  CHECK_THAT(place.run("import notes.txt").err,
             Catch::Contains("no known job; allowed: files of Megatron-LM"));
}

TEST_CASE("files of a job are recognised without reading the job", "[cli][jobs]") {
  const tests::CommandFolder place;
  const std::string script = (place.folder() / "train.sh").string();
  const std::string variables = (place.folder() / "variables.sh").string();
  place.write("variables.sh", "export NODES=4\n");
  // Importing the job fails, because no script sets the variable LAYERS.
  place.write("train.sh",
              "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $LAYERS --hidden-size 512 "
              "--num-attention-heads 8 --micro-batch-size 1\n");
  const cli::JobFiles files = cli::job_files({variables, script});
  CHECK(cli::is_job(files));
  CHECK_THROWS_WITH(cli::read_job(files), Catch::Contains("LAYERS"));

  cli::po::options_description options;
  cli::add_file_options(options);
  const cli::po::variables_map values = cli::parse({variables, script}, options, "scenario");
  CHECK(cli::scenario_file(values) == std::filesystem::path(script));
}
