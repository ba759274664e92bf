#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/flags.hpp"
#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/shell/words.hpp"

// Reads and writes Megatron-LM's arguments (megatron/training/arguments.py and the configurations
// that it makes arguments of). NeMo, Megatron-Bridge, MLPerf and Megatron-DeepSpeed use the same
// names.
namespace pipewright::jobs::megatron {

// True for the YAML of a functional test, whose MODEL_ARGS has flags as keys.
bool is_functional_test(const SourceText& file);
// True for a script or a command line with several of Megatron-LM's flags.
bool is_script(const SourceText& file);
// True for a log in which Megatron-LM prints all of its arguments.
bool has_printed_arguments(std::string_view text);
bool recognise(const SourceText& file);

// Adds the arguments that a log prints, with the number of GPUs. A log of several runs gives those
// of the last.
void read_printed_arguments(const Source& log, Request& request);

// Settings read from scripts and functional tests, with the scripts' variables and commands.
struct FileSettings {
  Request request;
  Script script;
};
FileSettings read_files(const JobInput& input);

Job read_job(const JobInput& input);
Launch write_script(const LaunchInput& input);

// Table of the flags that are read or written, named with _ instead of -.
std::span<const Flag> flags();

// Flags that are known and not used: those without effect, such as flags of files, logs and
// learning rates, and those that are not modelled.
const SettingTable& known_settings();
// Rows of known_settings() in two parts.
std::span<const SettingRow> quiet_settings();
std::span<const SettingRow> unmodelled_settings();

SettingNames setting_names();

// True if the flag is used or known.
bool is_known_flag(const std::string& name);

// Translates settings with Megatron-LM's names into a scenario. Throws config::Error for settings
// that Megatron-LM refuses.
Job read(Request request);

// Throw config::Error if Megatron-Core refuses how the scenario of a job divides layers into
// stages, and also how it divides microbatches into groups, for which versions differ. Keys that
// are absent, or have several values, are not checked. A recipe that is known by name may have a
// layout of its own for its model, so that check_recipe() checks other models only.
void check_stages(const config::Value& tree);
void check_recipe(const config::Value& tree);
void check_layout(const config::Value& tree);

// True if flags that are left out have the defaults of Megatron-LM's arguments, not those of a
// recipe.
bool has_argument_defaults(const Draft& draft);

// Stack of jobs without Transformer Engine, with --transformer-impl local.
inline constexpr std::string_view local_stack = "megatron-local";

// Stack of jobs of Megatron-LM and Megatron-DeepSpeed of 2021 to 2023.
inline constexpr std::string_view older_stack = "megatron-lm-2022";
// Returns whether a job is of these: its script has flags that Megatron-LM's arguments.py dropped
// before 2024, and none of Transformer Engine; or it starts DeepSpeed and gives the shape of the
// model by Megatron-LM's flags.
bool is_older(const Request& request);

// Settings for a scenario, and the keys that they cannot express. With `arguments` the settings are
// Megatron-LM's arguments; without, they are for configurations whose recipes have other defaults.
struct Written {
  std::vector<Setting> settings;
  std::vector<Difference> reasons;
};
Written write(const config::Scenario& scenario, const config::LaunchPlan& plan, bool arguments);

// Returns the differences of a job with these settings from the scenario of the launch.
Unexpressed unexpressed(const LaunchInput& input, const Written& written, Dialect dialect);

}  // namespace pipewright::jobs::megatron
