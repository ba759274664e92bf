#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/options.hpp"
#include "sim/config/text/value.hpp"

// The options that stand for keys of a scenario, which several commands share.
namespace pipewright::cli {

// A pipeline of passes: its sizes, times and network; with backwards that are cut in two, and with
// whole ones and fused pairs as well.
inline constexpr std::array<std::string_view, 7> split_pass_keys{
    "devices",           "microbatches", "forward_times", "input_grad_times",
    "weight_grad_times", "p2p_time",     "cluster"};
inline constexpr std::array<std::string_view, 10> pass_keys{
    "devices",           "microbatches", "forward_times", "backward_times", "input_grad_times",
    "weight_grad_times", "overlap",      "fused_times",   "p2p_time",       "cluster"};

// Adds the options of some keys or of all that have one, and -c and --set; or these two alone.
void add_scenario_options(po::options_description& options, std::span<const std::string_view> keys);
void add_scenario_options(po::options_description& options);
void add_file_options(po::options_description& options);

// The file that is named, as the positional option "scenario" or by -c.
std::optional<std::filesystem::path> scenario_file(const po::variables_map& given);

// What that file says, with the options over it; --set comes last. `between` may put its own words
// before that.
config::Value scenario_tree(const po::variables_map& given,
                            const std::function<void(config::Value&)>& between = {});

// The one value of an option that takes one. Throws UsageError.
const std::string& single(const std::vector<std::string>& words, const std::string& flag);

}  // namespace pipewright::cli
