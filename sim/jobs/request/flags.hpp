#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/value.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/settings_writer.hpp"

namespace pipewright::jobs {

// Kind of correspondence between a flag of a framework and a key of a scenario.
enum class Form : std::uint8_t {
  copy,      // the same value
  alias,     // the same value under another name; read, but not written
  on,        // a flag that makes the key true
  off,       // a flag that makes the key false
  choice,    // other names of the same values: `words`
  accepted,  // read, and without a meaning for the prediction
  rule,      // `read` and `write` alone
};

// Row of a framework's table of flags, used for reading and for writing.
struct Flag {
  std::string_view name;  // the framework's name, words joined by _
  std::string_view key;   // the scenario's dotted key
  Form form = Form::rule;
  std::string_view words = {};    // pairs of a choice: "rope=rotary learned_absolute=learned"
  std::string_view absent = {};   // the key's value without the flag; empty: our default
  std::string_view needs = {};    // flag without which this one has no effect
  std::string_view section = {};  // section in configurations by name: "model", "ddp"
  // Functions that handle several flags together. One that stands in several rows runs once.
  void (*read)(Draft&) = nullptr;
  void (*write)(SettingsWriter&) = nullptr;
};

// Appends the leaves of a tree (texts and lists) as settings with dotted names. `form` is the
// format of Setting::written from name and value: "{} = {}".
void flatten(const config::Value& value, std::string_view form, const std::string& path,
             std::vector<Setting>& settings);

// Sets the keys of a scenario from the job's flags: first by the rows with another form than
// `rule`, then by the functions, both in the order of the table. `defaults`: flags that are left
// out have their `absent` value.
void read_flags(std::span<const Flag> flags, Draft& draft, bool defaults);

// Adds the settings for a scenario, in the same order. `tree` is the scenario's tree with model and
// schedule spelled out. Settings that mean the same when left out are not written.
void write_flags(std::span<const Flag> flags, const config::Value& tree, SettingsWriter& writer);

// Adds only the settings that the `write` functions of the table give.
void write_rules(std::span<const Flag> flags, SettingsWriter& writer);

// Names of the settings of a table.
std::vector<std::string_view> names_of(std::span<const Flag> flags);

// Default of a scenario's key, as text; empty if it has none, or if the default is not a plain
// text.
std::string default_of(std::string_view key);
bool is_default(std::string_view key, std::string_view value);

// Translates a word by the pairs `framework_word=scenario_word` of Flag::words, in either
// direction; empty if no pair has it.
std::string word_for(std::string_view words, std::string_view framework_word);
std::string word_of(std::string_view words, std::string_view scenario_word);

}  // namespace pipewright::jobs
