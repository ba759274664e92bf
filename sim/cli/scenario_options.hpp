#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/options.hpp"
#include "sim/config/value.hpp"

// The options that stand for keys of a scenario, which several commands share.
namespace pipewright::cli {

// What an option is about: each command takes some kinds.
enum class OptionKind : std::uint8_t {
  pipeline,  // sizes, times, network
  whole,     // a backward that is not split, fused pairs
  run,       // engine, trace and the like
};

// Adds those of the kinds given, and -c and --set.
void add_scenario_options(po::options_description& options, const std::vector<OptionKind>& kinds);

// The file that is named, as the positional option "scenario" or by -c.
std::optional<std::filesystem::path> scenario_file(const po::variables_map& given);

// What that file says, with the options over it; --set comes last. `between` may put its own words
// before that.
config::Value scenario_tree(const po::variables_map& given,
                            const std::function<void(config::Value&)>& between = {});

// The one value of an option that takes one. Throws UsageError.
const std::string& single(const std::vector<std::string>& words, const std::string& flag);

}  // namespace pipewright::cli
