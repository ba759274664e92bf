#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "analysis/trace/partial_file.hpp"
#include "sim/cli/job_scenario.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/job.hpp"

namespace pipewright::cli {
namespace {

po::options_description import_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("cluster", one_word("X"), "a name of platforms/clusters, or a platform file");
  add("gpus", one_word("N"), "how many GPUs there are, where the files do not say it");
  add("output,o", one_word("FILE"), "the scenario to write; else printed");
  add("help,h", "this text");
  return options;
}

int print_help() {
  fmt::print(
      "usage: pipewright import FILE.. [VAR=VALUE..] [OPTIONS]\n"
      "\n"
      "Reads what starts a training elsewhere as a scenario, each key with the flag that it comes\n"
      "from. Files are known by what they hold:\n"
      "\n"
      "  Megatron-LM      a script or a command line; the YAML of its functional tests\n"
      "  Megatron-Bridge  overrides, model.tensor_model_parallel_size=8, in text, YAML or Python\n"
      "  NeMo, MLPerf     configurations in YAML; config_*.sh\n"
      "  torchtitan       TOML, or its configuration as JSON\n"
      "  DeepSpeed        its JSON, after the script that names it\n"
      "\n"
      "  pipewright import train.sh NNODES=8 --cluster dgx-h100 -o scenario.yaml\n"
      "  pipewright run train.sh NNODES=8 --cluster dgx-h100\n"
      "\n"
      "VAR=VALUE stands for a variable of a script. 'run', 'layout' and 'search' take such files\n"
      "directly.\n"
      "\n{}",
      describe(import_options()));
  return exit_ok;
}

}  // namespace

int import_command(const Arguments& arguments) {
  const po::variables_map given = parse(arguments, import_options(), "file");
  if (given.count("help") != 0) return print_help();
  const JobFiles files = job_files(values(given, "file"));
  if (files.files.empty())
    throw UsageError("import: which files? A script, a configuration, ...; --help has a list");
  jobs::JobWords words = files.words;
  if (given.count("gpus") != 0) words.gpus = read_count(given, "gpus");
  jobs::Job job = jobs::import_job(files.files, words);
  if (given.count("cluster") != 0)
    job.tree.entries.insert(
        job.tree.entries.begin(),
        {"cluster",
         {.source = "--cluster"},
         config::make_text(given["cluster"].as<std::string>(), {.source = "--cluster"})});
  if (job.missing.empty()) config::read_scenario(job.tree);
  const std::string text = jobs::commented_yaml(job);
  if (given.count("output") == 0) {
    fmt::print("{}", text);
    return exit_ok;
  }
  const std::string output = given["output"].as<std::string>();
  check_files(std::vector<std::filesystem::path>(files.files.begin(), files.files.end()),
              std::vector<std::filesystem::path>{output});
  trace::write_file(output, text);
  fmt::print("{}wrote   {}\n", job_report(job), output);
  return exit_ok;
}

}  // namespace pipewright::cli
