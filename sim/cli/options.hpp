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
#include "sim/config/keys.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/variation.hpp"

// Options that several commands share, and functions to parse them.
namespace pipewright::cli {

namespace po = boost::program_options;

// Describe an option that takes one word, or several; `name` stands for its value in the help.
inline auto one_word(const char* name) { return po::value<std::string>()->value_name(name); }
inline auto several_words(const char* name) {
  return po::value<std::vector<std::string>>()->multitoken()->value_name(name);
}

// Parses a command line. Words without an option are values of `positional`; neither it nor --help
// needs to be among `options`. A negative number is taken for a value, not for an option, so that
// error messages can name it. Throws UsageError.
po::variables_map parse(const Arguments& arguments, const po::options_description& options,
                        const std::string& positional);

// Syntax of a command line: options, and the name of the words without an option.
struct Syntax {
  po::options_description options;
  std::string positional;
};

// Returns the syntax of a command without verbs: calls the command, which stops when it calls
// parse().
Syntax syntax_of(const Command& command);

// Values of an option that takes several words; empty if the option is not given.
std::vector<std::string> values(const po::variables_map& flags, const std::string& option);

// The only value of an option. Throws UsageError if there are several or none.
const std::string& single(const std::vector<std::string>& words, std::string_view flag);

// Reads the value of an option as a positive whole number. Throws config::Error.
std::uint32_t read_count(const po::variables_map& flags, const std::string& option);

// Returns the help of the options as text, one line or more for each option.
std::string describe(const po::options_description& options);

// Returns the help of the keys in a section of a scenario as text: a heading, and a line for each
// key.
std::string describe_section(std::string_view name, const std::vector<config::KeyRow>& keys);

// Keys of a scenario that describe a pipeline with split backward passes: sizes, times, network.
inline constexpr std::array<std::string_view, 7> split_pass_keys{
    "devices",           "microbatches", "forward_times", "input_grad_times",
    "weight_grad_times", "p2p_time",     "cluster"};

// Add -c and --set and, in the first two cases, the options of the given keys or of all keys of a
// scenario.
void add_scenario_options(po::options_description& options, std::span<const std::string_view> keys);
void add_scenario_options(po::options_description& options);
void add_file_options(po::options_description& options);
// Add --gpus and --run-with-bash, which scenario_tree() heeds for the scripts of a job.
void add_gpus_option(po::options_description& options);
void add_bash_option(po::options_description& options);

// Add and read --fail and --slow. scenario_tree() adds their links to variation.slow_links.
void add_failure_words(po::options_description& options);
std::vector<config::Variation::SlowLink> failures(const po::variables_map& flags);

// The scenario file of the command line, given without an option or by -c.
std::optional<std::filesystem::path> scenario_file(const po::variables_map& flags);

// Scenario after the options of the command line are applied: first all others, then `adjust`, and
// --set last.
config::Value scenario_tree(const po::variables_map& flags,
                            const std::function<void(config::Value&)>& adjust = {});
// Throws a UsageError if neither a file nor an option has set a key of the scenario.
void check_has_scenario(const config::Value& root);

// Add and read the options for parameters of schedules, such as --chunks.
std::string option_of(const schedules::ChoiceInfo& info);  // "group-size"
void add_choices(po::options_description& options);
void read_choices(const po::variables_map& flags, schedules::Parameters& parameters);

// Prints each note as a line on standard error.
void print_notes(const std::vector<std::string>& notes);

// Path of the platform file for a command of `platform`, which is given as a path or as the name of
// a cluster of the library.
std::filesystem::path platform_file(const po::variables_map& flags, const std::string& verb);

}  // namespace pipewright::cli
