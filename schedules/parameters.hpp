#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schedules/costs.hpp"

namespace pipewright::schedules {

// Of schedules that take a number of chunks, or of slices, and are given none.
inline constexpr std::uint32_t usual_chunks = 2;
inline constexpr std::uint32_t usual_slices = 2;

// What a user may choose about a schedule. Optional ones are for the families that take them.
struct Parameters {
  std::uint32_t devices = 0;
  std::uint32_t microbatches = 0;  // of one iteration
  std::uint32_t iterations = 1;
  bool legacy = false;  // of a .csv of PyTorch: B is the input gradient, BW the full backward
  std::optional<std::uint32_t> chunks;      // stages per device
  std::optional<std::uint32_t> group_size;  // microbatches that pass a chunk before the next chunk
  std::optional<std::uint32_t> slices;      // of a microbatch along the sequence
  std::optional<std::uint32_t> recompute;   // chunks of a device whose forward keeps nothing
  std::optional<std::uint32_t> fused;       // 1: each F of the steady state with the B beside it
  // Of 1f1b: forwards that run further ahead on each device, for passes of a vocabulary that is
  // cut.
  std::uint32_t ahead = 0;
  // What families that plan for times plan with: F, I and W of each device or of each stage, and
  // the latency of a hop. Left empty, F = I = W and no latency.
  PassTimes device_times;
  double hop = 0;
  double input_grad_releases = 0;  // the part of a pass's activations that I, before W, frees
};

// One of the optional ones.
using Choice = std::optional<std::uint32_t> Parameters::*;

// How users write and read of a choice. Scenario keys, options, checks and lists follow from it.
struct ChoiceInfo {
  Choice choice;
  std::string_view key;      // of a schedule in a scenario, "group_size"
  std::string_view flag;     // of the command line, "--group-size"
  std::string_view help;     // one line
  std::string_view example;  // of a value
  std::string_view noun;     // as in "takes no group size"
  std::string_view one;      // as in "at least 1 microbatch a group is needed"; empty: 0 is allowed
  std::uint32_t neutral;     // the value that every family has; 0 of those that start at 1: none
  std::string_view default_value = {};  // of the families that take it, as written
  bool is_flag = false;                 // 1 is written true, and 0 false
};
inline constexpr std::array choices{
    ChoiceInfo{.choice = &Parameters::chunks,
               .key = "chunks",
               .flag = "--chunks",
               .help = "stages on each device",
               .example = "2",
               .noun = "number of chunks",
               .one = "chunk",
               .neutral = 1},
    ChoiceInfo{.choice = &Parameters::group_size,
               .key = "group_size",
               .flag = "--group-size",
               .help = "microbatches that pass a chunk before the next chunk's turn",
               .example = "8",
               .noun = "group size",
               .one = "microbatch a group",
               .neutral = 0},
    ChoiceInfo{.choice = &Parameters::slices,
               .key = "slices",
               .flag = "--slices",
               .help = "of a microbatch along the sequence",
               .example = "2",
               .noun = "number of slices",
               .one = "slice",
               .neutral = 1,
               .default_value = "2"},
    ChoiceInfo{.choice = &Parameters::recompute,
               .key = "recompute",
               .flag = "--recompute",
               .help = "chunks of a device whose forward is run again before its backward",
               .example = "1",
               .noun = "recomputed chunks",
               .one = {},
               .neutral = 0},
    ChoiceInfo{.choice = &Parameters::fused,
               .key = "fused",
               .flag = "--fused",
               .help = "forward and backward passes of the steady state run in pairs, as one",
               .example = "true",
               .noun = "fused pairs",
               .one = {},
               .neutral = 0,
               .default_value = "false, dualpipe and dualpipe-v true",
               .is_flag = true},
};

// Whether a choice is made that not every family has.
inline bool is_chosen(const ChoiceInfo& info, const Parameters& parameters) {
  return (parameters.*info.choice).value_or(info.neutral) > info.neutral;
}

}  // namespace pipewright::schedules
