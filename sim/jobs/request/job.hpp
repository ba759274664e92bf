#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/value.hpp"

// Jobs of other programs: what starts a training with Megatron-LM, NeMo, torchtitan or DeepSpeed,
// read as a scenario.
namespace pipewright::jobs {

enum class Framework : std::uint8_t { megatron, bridge, nemo, mlperf, torchtitan, deepspeed };
// As users write them, in this order; and as they are called.
inline constexpr std::array<std::string_view, 6> framework_names{
    "megatron", "bridge", "nemo", "mlperf", "torchtitan", "deepspeed"};
inline constexpr std::array<std::string_view, 6> framework_titles{
    "Megatron-LM", "Megatron-Bridge", "NeMo", "MLPerf", "torchtitan", "DeepSpeed"};
std::string_view title_of(Framework framework);

// Something in the framework's words, and where it stands.
struct Note {
  std::string text;  // "--lr 1e-4"
  config::Origin origin;
};

// What a job says, as a scenario.
struct Job {
  Framework framework = Framework::megatron;
  std::string name;                             // of its file
  config::Value tree;                           // each value remembers where the user wrote it
  std::map<std::string, std::string> comments;  // by a dotted key: the flag that it comes from
  std::vector<Note> without_effect;             // flags that change nothing here
  std::vector<Note> not_understood;             // flags that may matter and are not read
  std::vector<std::string> assumed;             // what nothing said, in sentences
  std::vector<std::string> missing;             // keys that a run needs and nothing says
  std::string gpu;                              // "h100", where files name one
  std::optional<std::uint64_t> gpus;
};

// What a user adds on the command line: VAR=VALUE words, and how many GPUs there are.
struct JobWords {
  std::vector<std::pair<std::string, std::string>> variables;
  std::optional<std::uint64_t> gpus;
};

}  // namespace pipewright::jobs
