#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/value.hpp"
#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs {

// How a flag of a framework and a key of a scenario say the same.
enum class Form : std::uint8_t {
  copy,    // the same value
  alias,   // the same value by another name, which is read and not written
  on,      // a flag that makes the key true
  off,     // a flag that makes the key false
  choice,  // other names of the same: `words`
  rule,    // more than one flag or key takes part: functions read and write it
};

// A row of a framework's table, which is used in both directions.
struct Flag {
  std::string_view name;  // the framework's, joined by _
  std::string_view key;   // the scenario's, dotted
  Form form = Form::rule;
  std::string_view words = {};    // of a choice: "rope=rotary learned_absolute=learned"
  std::string_view absent = {};   // what the key is where the flag is left out; empty: our default
  std::string_view needs = {};    // the flag without which this one means nothing
  std::string_view section = {};  // where configurations by name have it: "model", "ddp"
};

// The texts and lists of a tree by their dotted names; `form` is how a name and its value are
// written, "{} = {}".
void flatten(const config::Value& value, std::string_view form, const std::string& path,
             std::vector<Setting>& found);

// Sets the keys of rows that are no rules. `defaults`: whether what is left out has `absent`.
void read_flags(std::span<const Flag> flags, Draft& draft, bool defaults);

// Whether our default of a key is this value.
bool is_default(std::string_view key, std::string_view value);
// What the key has where a scenario leaves it out; empty where that is no plain value.
std::string default_of(std::string_view key);

// The settings that rows which are no rules make of a scenario's tree, in which model and schedule
// are spelled out.
// `arguments`: those that leave a flag out have what the row says; else all that is not our default
// is written.
std::vector<Setting> write_flags(std::span<const Flag> flags, const config::Value& tree,
                                 bool arguments);

// The pairs of `words`, and what a name of one side is on the other; empty if there is none.
std::string word_for(std::string_view words, std::string_view theirs);
std::string word_of(std::string_view words, std::string_view ours);

}  // namespace pipewright::jobs
