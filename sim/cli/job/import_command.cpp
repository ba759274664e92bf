#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/trace/partial_file.hpp"
#include "sim/cli/job_scenario.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/output.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/setting_list.hpp"

namespace pipewright::cli {
namespace {

po::options_description job_import_options() {
  po::options_description options("options", 100);
  auto add = options.add_options();
  add("cluster", one_word("X"), "a name of platforms/clusters, or a platform file");
  add_gpus_option(options);
  add("print-command",
      "print the training command that the scripts start, quoted for a shell; values that only a "
      "running shell knows are expansions such as \"$NAME\"");
  add_bash_option(options);
  add("settings", one_word("FRAMEWORK"),
      "list the settings of a framework, or those that are named: the key that each one sets, or "
      "why "
      "it sets none");
  add("details", "list every setting without effect, also where there are many");
  add("strict", "refuse a job that has settings that are not modelled");
  add("output,o", one_word("FILE"), "write the scenario to a file instead of printing it");
  add("help,h", "print this help");
  return options;
}

int print_import_help() {
  std::string formats;
  for (const jobs::Framework& framework : jobs::frameworks())
    formats += fmt::format("  {:<15}  {}\n", framework.title, framework.files);
  fmt::print(
      "usage: pipewright import FILE.. [VAR=VALUE..] [OPTIONS]\n"
      "\n"
      "Reads a training job of another framework as a scenario. A comment at each key names the "
      "flag\n"
      "that sets it. Files are recognised by their content:\n"
      "\n"
      "{}"
      "\n"
      "  pipewright import train.sh NNODES=8 --cluster dgx-h100 -o scenario.yaml\n"
      "  pipewright run train.sh NNODES=8 --cluster dgx-h100\n"
      "  pipewright import --settings megatron lr use-sharp\n"
      "\n"
      "VAR=VALUE sets a variable of a script. 'run', 'layout' and 'search' take such files "
      "directly.\n"
      "\n{}",
      formats, describe(job_import_options()));
  return exit_ok;
}

int print_command(const std::vector<std::string>& files, const jobs::JobWords& words) {
  const jobs::CommandLine line = jobs::command_line(files, words);
  for (const jobs::Note& note : line.not_followed)
    fmt::print(stderr, "pipewright: not followed: {}\n", jobs::not_modelled_text(note));
  fmt::print("{}\n", line.text);
  return exit_ok;
}

// Prints what becomes of the settings with these names, or of all settings of a framework.
void print_list(const std::string& name, const std::vector<std::string>& settings) {
  const jobs::Framework* const framework = jobs::find_framework(name);
  if (framework == nullptr || framework->settings == nullptr) {
    std::vector<std::string_view> known;
    for (const jobs::Framework& row : jobs::frameworks())
      if (row.settings != nullptr) known.push_back(row.name);
    throw UsageError(fmt::format("there is no framework '{}'", name))
        .allow(fmt::format("{}", fmt::join(known, ", ")));
  }
  const jobs::SettingNames names = framework->settings();
  std::vector<jobs::SettingUse> uses;
  for (const std::string& setting : settings) uses.push_back(jobs::use_of(names, setting));
  if (settings.empty()) uses = jobs::uses_of(names);
  for (const jobs::SettingUse& use : uses)
    fmt::print("{:<44}  {}{}{}\n", use.name, use.list, use.text.empty() ? "" : ": ", use.text);
}

}  // namespace

int import_command(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, job_import_options(), "file");
  if (options.count("help") != 0) return print_import_help();
  if (options.count("settings") != 0) {
    print_list(options["settings"].as<std::string>(), values(options, "file"));
    return exit_ok;
  }
  const JobFiles files = job_files(values(options, "file"));
  if (files.files.empty())
    throw UsageError("import needs files: a script, a configuration, ...; --help lists them");
  jobs::JobWords words = files.words;
  if (options.count("gpus") != 0) words.gpus = read_count(options, "gpus");
  words.with_bash = options.count("run-with-bash") != 0;
  if (options.count("print-command") != 0) return print_command(files.files, words);
  jobs::Job job = jobs::import_job(files.files, words);
  if (options.count("strict") != 0) jobs::check_all_modelled(job);
  if (options.count("cluster") != 0)
    job.tree.entries.insert(
        job.tree.entries.begin(),
        {"cluster",
         {.source = "--cluster"},
         config::make_text(options["cluster"].as<std::string>(), {.source = "--cluster"})});
  if (job.missing.empty()) config::read_scenario(job.tree);
  const std::string text = jobs::commented_yaml(job, options.count("details") != 0);
  if (options.count("output") == 0) {
    fmt::print("{}", text);
    return exit_ok;
  }
  const std::string output = options["output"].as<std::string>();
  check_files(std::vector<std::filesystem::path>(files.files.begin(), files.files.end()),
              std::vector<std::filesystem::path>{output});
  trace::write_file(output, text);
  fmt::print("{}wrote   {}\n", job_report(job), output);
  return exit_ok;
}

}  // namespace pipewright::cli
