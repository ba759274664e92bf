#pragma once

#include <array>
#include <cstddef>
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

// Part of a prediction that a setting would change if the model had it. `unknown`: no table has the
// setting.
enum class Changes : std::uint8_t { nothing, time, memory, time_and_memory, unknown };
inline constexpr std::array<std::string_view, 5> changes_names{"nothing", "time", "memory",
                                                               "memory and time", "unknown"};
std::string_view name_of(Changes changes);

// Setting as the framework writes it, with its location, for messages.
struct Note {
  std::string text;  // "--lr 1e-4"
  config::Origin origin;
  Changes changes = Changes::nothing;
  std::string why;  // clause: what the setting is, or what it would change
};

// Fusion of a group of kernels by a job, and the flag that sets it.
struct Fused {
  bool is_fused = false;
  std::string comment;
};

// A job, translated into a scenario.
struct Job {
  std::string_view framework;                   // name in the table of frameworks
  std::string name;                             // name of the job's file
  config::Value tree;                           // the scenario; each value has its location
  std::map<std::string, std::string> comments;  // flag that set a key, by the dotted key
  std::set<std::string> by_default;         // keys that no file sets, by the framework's default
  std::map<std::string_view, Fused> fused;  // by group of kernels, of config::fusable_names
  // Settings of the job: each is used, has no effect, or is not modelled.
  std::size_t used = 0;
  std::vector<Note> without_effect;
  std::vector<Note> not_modelled;
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

// Summary of the three lists: "train.sh: 41 settings used, 63 without effect, 2 not modelled:
// --optimizer-cpu-offload (memory and time), --my-flag (unknown)".
std::string summary_of(const Job& job);
// Describes a setting that is not modelled: "train.sh:13:1: --my-flag 7: unknown".
std::string not_modelled_text(const Note& note);
// Throws config::Error if a setting of the job is not modelled.
void check_all_modelled(const Job& job);

}  // namespace pipewright::jobs
