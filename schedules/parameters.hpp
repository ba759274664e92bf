#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schedules/costs.hpp"

namespace pipewright::schedules {

// Default numbers of chunks and of slices for schedules that take them.
inline constexpr std::uint32_t usual_chunks = 2;
inline constexpr std::uint32_t usual_slices = 2;
// Default number of layers on each device for schedules that divide layers among stages.
inline constexpr std::uint32_t usual_layers_per_device = 2;

// Parameters of a schedule. Each family accepts only some of the optional ones.
struct Parameters {
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;  // Microbatches of one iteration.
  std::uint32_t iterations = 1;
  bool legacy = false;  // In a PyTorch .csv, B is the input gradient and BW the full backward.
  std::optional<std::uint32_t> chunks;  // Stages per device.
  std::optional<std::uint32_t>
      group_size;                       // Microbatches that run on a chunk before the next chunk.
  std::optional<std::uint32_t> slices;  // Slices of each microbatch along the sequence.
  std::optional<std::uint32_t>
      recompute;  // Chunks per device that are recomputed before the backward.
  std::optional<std::uint32_t>
      fused;  // 1: each F of the steady state is fused with the B beside it.
  std::optional<std::uint32_t>
      barriers;  // Barriers of a split vocabulary, whose passes are S and T; 0: it is not split.
  std::optional<std::uint32_t>
      layers_per_device;              // Layers of each device, if layers are divided among stages.
  std::optional<std::uint32_t> fold;  // Microbatches that take the same devices one after another.
  // Inputs of families that optimize for times: durations of F, I and W on each device or each
  // stage, and the latency of a hop in the same unit. If empty, F = I = W and there is no latency.
  PassTimes device_times;
  double hop = 0;
  double input_grad_releases =
      0;  // Fraction of a pass's activations that I frees; W frees the rest.
};

// An optional parameter.
using Choice = std::optional<std::uint32_t> Parameters::*;

// Name, help and limits of an optional parameter. Scenario keys, command-line options, checks and
// listings are generated from these rows.
struct ChoiceInfo {
  Choice choice;
  std::string_view key;      // Key of a schedule in a scenario: "group_size".
  std::string_view flag;     // Option of the command line: "--group-size".
  std::string_view help;     // One line.
  std::string_view example;  // An example value.
  std::string_view noun;     // As in "takes no group size".
  std::string_view unit;  // As in "at least 1 microbatch a group is needed"; empty if 0 is allowed.
  std::uint32_t neutral;  // Value of a family without the choice; 0, below the minimum, if none.
  std::string_view default_value = {};  // Default of the families that take it, as written.
  bool is_flag = false;                 // The values 1 and 0 are written true and false.
};
inline constexpr std::array choices{
    ChoiceInfo{.choice = &Parameters::chunks,
               .key = "chunks",
               .flag = "--chunks",
               .help = "number of stages on each device",
               .example = "2",
               .noun = "number of chunks",
               .unit = "chunk",
               .neutral = 1},
    ChoiceInfo{.choice = &Parameters::group_size,
               .key = "group_size",
               .flag = "--group-size",
               .help = "number of microbatches that pass a chunk before the next chunk's turn",
               .example = "8",
               .noun = "group size",
               .unit = "microbatch a group",
               .neutral = 0},
    ChoiceInfo{.choice = &Parameters::slices,
               .key = "slices",
               .flag = "--slices",
               .help = "number of slices of each microbatch along the sequence",
               .example = "2",
               .noun = "number of slices",
               .unit = "slice",
               .neutral = 1,
               .default_value = "2"},
    ChoiceInfo{
        .choice = &Parameters::recompute,
        .key = "recompute",
        .flag = "--recompute",
        .help = "number of chunks of a device whose forward is run again before its backward",
        .example = "1",
        .noun = "recomputed chunks",
        .unit = {},
        .neutral = 0},
    ChoiceInfo{.choice = &Parameters::fused,
               .key = "fused",
               .flag = "--fused",
               .help = "forward and backward passes of the steady state run in pairs, as one",
               .example = "true",
               .noun = "fused pairs",
               .unit = {},
               .neutral = 0,
               .default_value = "false; dualpipe, dualpipe-v and stp: true",
               .is_flag = true},
    ChoiceInfo{.choice = &Parameters::barriers,
               .key = "barriers",
               .flag = "--barriers",
               .help = "number of barriers between the passes S and T of a split vocabulary",
               .example = "1",
               .noun = "barriers",
               .unit = {},
               .neutral = 0,
               .default_value = "those of parallel.vocab_parallel"},
    ChoiceInfo{.choice = &Parameters::layers_per_device,
               .key = "layers_per_device",
               .flag = "--layers-per-device",
               .help = "number of layers of each device, if layers are divided among stages",
               .example = "4",
               .noun = "number of layers per device",
               .unit = "layer per device",
               .neutral = 0,
               .default_value = "2"},
    ChoiceInfo{.choice = &Parameters::fold,
               .key = "fold",
               .flag = "--fold",
               .help = "number of microbatches that take the same devices one after another",
               .example = "2",
               .noun = "fold",
               .unit = "fold",
               .neutral = 1,
               .default_value = "1"},
};

// Returns true if the user gave the parameter a value that not every family supports.
inline bool is_chosen(const ChoiceInfo& info, const Parameters& parameters) {
  return (parameters.*info.choice).value_or(info.neutral) > info.neutral;
}

}  // namespace pipewright::schedules
