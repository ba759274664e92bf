#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/config/launch_plan.hpp"
#include "sim/config/scenario.hpp"
#include "sim/jobs/request/job.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs {

struct JobInput;

// A framework whose jobs are read or written: a row of the table in frameworks.cpp.
struct Framework {
  std::string_view name;   // in options, JSON and Python: "megatron"
  std::string_view title;  // in prose: "Megatron-LM"
  std::string_view files;  // help on the files that are read
  std::string_view stack;  // stack that its jobs run on, unless their files say otherwise
  std::span<const std::string_view> stacks = {};  // all stacks of the software of its launches
  // Returns true if the file belongs to a job of the framework. Null: another row recognises its
  // files.
  bool (*recognise)(const SourceText& file) = nullptr;
  Job (*read)(const JobInput& input) = nullptr;
  // Names of the settings that are used, and of those that are known.
  SettingNames (*settings)() = nullptr;
  // Writes a script or configuration that starts a scenario. Null: not supported.
  Launch (*write)(const LaunchInput& input) = nullptr;
  // Throws config::Error if the framework refuses how a scenario divides layers and microbatches.
  void (*check)(const config::Value& tree) = nullptr;
  bool writes_adapters = false;       // launches can train adapters
  bool takes_deepspeed_json = false;  // a JSON of DeepSpeed may be one of the job's files
  bool on_search_page = false;        // the page of a search shows the launch of each candidate
};

// Table of all frameworks. If several rows recognise a file, or the files of one job, the last row
// reads them: a framework that starts another, or uses its flags, comes after it.
std::span<const Framework> frameworks();

// Return the framework with this name or title, in any spelling such as "llama-factory", or the one
// with this name that can write launches; null if there is none.
const Framework* find_framework(std::string_view name);
const Framework* find_writable_framework(std::string_view name);

// Names of the frameworks for which launches can be written: "megatron, bridge and deepspeed".
std::string writable_frameworks();

// Framework to whose job a file belongs, judged by its content; null for scenarios and for other
// files. Throws config::Error for a configuration of a framework whose jobs are not read.
const Framework* recognise(const std::string& file);

// Training command that the scripts of a job start, with what the reader could not follow. In the
// text, the words are quoted for a shell, and unknown values are expansions such as "$NAME".
struct CommandLine {
  std::string text;
  std::vector<Note> not_followed;
};
CommandLine command_line(std::span<const std::string> files, const JobWords& words);

// Reads the files of one job. Throws config::Error, also for settings that the framework would
// refuse.
Job import_job(std::span<const std::string> files, const JobWords& words = {});

// Throws config::Error if the framework of a job refuses the scenario `tree`: that of the job, with
// keys that the command line changes.
void check_layout(const Job& job, const config::Value& tree);

// Writes a script or configuration that starts the scenario with a framework. Throws config::Error
// for a scenario without a model.
Launch export_job(const config::Scenario& scenario, const Framework& framework,
                  const config::LaunchPlan& plan = {});

// Formats the scenario of a job as YAML. A comment at each key names its origin; comments at the
// top list what was left out and assumed; those of many settings without effect only with
// `details`.
std::string commented_yaml(const Job& job, bool details = true);

}  // namespace pipewright::jobs
