#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/megatron/launch.hpp"
#include "sim/jobs/request/job_input.hpp"
#include "sim/jobs/request/launch_text.hpp"
#include "sim/jobs/request/request.hpp"
#include "sim/jobs/request/setting_names.hpp"
#include "sim/jobs/request/sources.hpp"
#include "sim/jobs/shell/words.hpp"

// Reads and writes configurations of NeMo, Megatron-Bridge and MLPerf. They use mostly
// Megatron-LM's names, written with _ and in sections.
namespace pipewright::jobs::nemo {

// Format in which a configuration is written.
enum class Form : std::uint8_t {
  yaml,       // YAML or JSON
  python,     // recipes
  overrides,  // model.tensor_model_parallel_size=8
};
std::optional<Form> form_of(const SourceText& file);

// True for files of Megatron-Bridge or NeMo. Reading tells them apart: NeMo's have the section
// `trainer`.
bool recognise(const SourceText& file);
bool recognise_mlperf(const SourceText& file);  // config_*.sh

Job read_job(const JobInput& input);
Job read_mlperf_job(const JobInput& input);
Launch write_bridge(const LaunchInput& input);
Launch write_nemo(const LaunchInput& input);

// Entry of a configuration: dotted name and values, such as "model.tensor_model_parallel_size" and
// "8".
struct Named {
  std::string path;
  std::vector<std::string> values;
  std::string written;
  config::Origin origin;
};

// Reads a YAML configuration, and resolves its references ${..} to keys and variables.
std::vector<Named> read_yaml(const Source& source, const JobWords& words);

// Function that is not in the files, from which a configuration starts.
struct Unread {
  std::string text;  // "llama3_70b_pretrain_config()"
  config::Origin origin;
};
// Path of an entry about a call that is not followed.
inline constexpr std::string_view not_followed_path = "not_followed";

// Configuration that a recipe returns.
struct Recipe {
  std::vector<Named> named;
  std::optional<Unread> unread;
};
// Interprets a file of Python: the function that the variable RECIPE names or the only one, or the
// statements of a file without functions. PACKAGE names a folder with the package that the file
// imports, which may also lie above the file.
Recipe read_python(const Source& source, const JobWords& words, Request& request);

// Recipe that a command starts by its name.
struct NamedRecipe {
  Word name;         // "llama3_70b_pretrain_config"
  std::string task;  // "pretrain", for factories of NeMo
};
std::optional<NamedRecipe> recipe_in(std::span<const Word> words);
// Interprets that function of Megatron-Bridge's or NeMo's recipes, if the package is in the folder
// that PACKAGE names or above the command's file; else the recipe is unread.
Recipe read_named_recipe(const NamedRecipe& recipe, const JobWords& words, Request& request);

// Reads overrides such as model.tensor_model_parallel_size=8, from a text or from a script's
// command, and the recipe that the command names.
Recipe read_overrides(const Source& source, const JobWords& words, Request& request);
// Reads the variables of MLPerf's config_*.sh: export TENSOR_MODEL_PARALLEL=8.
std::vector<Named> read_mlperf(const Script& script, Request& request);

// Settings that Megatron-LM does not have, or that have another meaning here, and that are not
// used.
const SettingTable& known_settings();
// Names that are used beside those of Megatron-LM.
std::vector<std::string_view> used_names();

SettingNames setting_names();

// Returns whether an entry is a section `peft`, or in such a section.
bool is_of_adapters(const Named& entry);
// Adds the settings of a configuration's adapters to a request, by the names of lora_flags, and
// returns whether there are any. Throws config::Error for other adapters than those of LoRA.
bool add_adapters(std::span<const Named> named, Request& request);

// Adds the entries of a configuration to a request, as settings with Megatron-LM's names.
void translate(std::span<const Named> named, Request& request);

// Throws config::Error if a configuration starts from a function that is not read, and the settings
// do not give all sizes of layout and batch; else adds a note about the function.
void check_is_read(const Unread& unread, std::span<const Named> named, Request& request);

// Finds the library's model that a job uses, by the names in the configuration, and else by the
// name of its recipe or file. If the request sets the sizes of a model itself, it gets none.
void find_model(std::span<const Named> named, Request& request);

// Formats settings with Megatron-LM's names as overrides of Megatron-Bridge or NeMo:
// "model.num_moe_experts=8".
std::vector<std::string> overrides_of(std::span<const Setting> settings, bool for_nemo);

}  // namespace pipewright::jobs::nemo
