#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/text/value.hpp"

// Jobs of training frameworks (Megatron-LM, NeMo, torchtitan, DeepSpeed, ...), translated into
// scenarios.
namespace pipewright::jobs {

// Setting as the framework writes it, with its location, for messages.
struct Note {
  std::string text;  // "--lr 1e-4"
  config::Origin origin;
};

// A job, translated into a scenario.
struct Job {
  std::string_view framework;                   // name in the table of frameworks
  std::string name;                             // name of the job's file
  config::Value tree;                           // the scenario; each value has its location
  std::map<std::string, std::string> comments;  // flag that set a key, by the dotted key
  std::set<std::string> by_default;  // keys that no file sets, by the framework's default
  std::vector<Note> without_effect;  // flags that do not change the prediction
  std::vector<Note> not_understood;  // flags that may matter but are not read
  std::vector<std::string> assumed;  // assumptions, in sentences
  std::vector<std::string> missing;  // keys that a run needs and the job does not set
  std::string gpu;                   // type of GPU that a file names, as in "h100"
  std::optional<std::uint64_t> gpus;
};

// Words of the command line that complete a job: VAR=VALUE, --gpus and --run-with-bash.
struct JobWords {
  std::vector<std::pair<std::string, std::string>> variables;
  std::optional<std::uint64_t> gpus;
  bool with_bash = false;  // bash runs the scripts in a sandbox; our reader does not follow them
};

}  // namespace pipewright::jobs
