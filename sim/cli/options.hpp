#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options.hpp>

#include "schedules/parameters.hpp"
#include "sim/cli/commands.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/variation.hpp"

// What commands share of their options.
namespace pipewright::cli {

namespace po = boost::program_options;

// Options that take one word, or several.
inline auto one_word(const char* name) { return po::value<std::string>()->value_name(name); }
inline auto several_words(const char* name) {
  return po::value<std::vector<std::string>>()->multitoken()->value_name(name);
}

// Parses a command line; words without an option are the values of `positional`, which need not be
// among `options`, nor --help. A negative number is a value, so that it is refused as one. Throws
// UsageError.
po::variables_map parse(const Arguments& arguments, const po::options_description& options,
                        const std::string& positional);

// What the line of a command may hold: the options, and what its other words are called.
struct Syntax {
  po::options_description options;
  std::string positional;
};

// The syntax of a command without verbs, as it gives it to parse(), at which it stops.
Syntax syntax_of(const Command& command);

// The values of an option that takes several; none if it was not given.
std::vector<std::string> values(const po::variables_map& given, const std::string& option);

// The one value of an option that takes one. Throws UsageError.
const std::string& single(const std::vector<std::string>& words, const std::string& flag);

// A whole number above zero. Throws config::Error.
std::uint32_t read_count(const po::variables_map& given, const std::string& option);

// An option's help as text.
std::string describe(const po::options_description& options);

// A pipeline of passes: its sizes, times and network, with backwards that are cut in two.
inline constexpr std::array<std::string_view, 7> split_pass_keys{
    "devices",           "microbatches", "forward_times", "input_grad_times",
    "weight_grad_times", "p2p_time",     "cluster"};

// Adds the options of some keys or of all that have one, and -c and --set; or these two alone.
void add_scenario_options(po::options_description& options, std::span<const std::string_view> keys);
void add_scenario_options(po::options_description& options);
void add_file_options(po::options_description& options);

// --fail and --slow, and what they say. scenario_tree() adds it to variation.slow_links.
void add_failure_words(po::options_description& options);
std::vector<config::Variation::SlowLink> failures(const po::variables_map& given);

// The file that is named, as the positional option "scenario" or by -c.
std::optional<std::filesystem::path> scenario_file(const po::variables_map& given);

// What that file says, with the options over it; --set comes last. `between` may put its own words
// before that.
config::Value scenario_tree(const po::variables_map& given,
                            const std::function<void(config::Value&)>& between = {});

// The options of what a user may choose about a schedule, --chunks and the like.
std::string option_of(const schedules::ChoiceInfo& info);  // "group-size"
void add_choices(po::options_description& options);
void read_choices(const po::variables_map& given, schedules::Parameters& parameters);

// A line of standard error for each.
void print_notes(const std::vector<std::string>& notes);

// The one file that a verb of `platform` is given: a path, or the name of a cluster of the library.
std::filesystem::path platform_file(const po::variables_map& given, const std::string& verb);

}  // namespace pipewright::cli
