#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/text/value.hpp"

// A scenario as the text that somebody types, and as values that stand under keys: the two sides of
// a form.
namespace pipewright::serve {

inline constexpr const char* scenario_name = "scenario.yaml";  // in messages

// The tree of a text; an empty one is an empty scenario. Throws config::Error.
config::Value tree_of(const std::string& text);

// A dotted key and the YAML that is to stand under it; empty: nothing shall.
using Edit = std::pair<std::string, std::string>;

// The text with these changes. Where one value takes the place of another, all else stays as it was
// typed; else the text is written anew, below its first comments. Throws config::Error.
std::string edited(std::string text, const std::vector<Edit>& edits);

// What stands under each key, as YAML: "parallel.tp" -> "8". Lists are one value. The pipeline's
// devices are parallel.pp, wherever they stand, and a schedule's name is schedule.name.
std::map<std::string, std::string> values_of(const config::Value& tree);

// Where in the text a message finds a fault, and under which key.
struct Fault {
  std::string message;  // without the place
  std::string key;      // empty: of none
  int line = 0;         // from 1; 0: not known
  int column = 0;
};
Fault fault_of(const std::string& message, const std::string& text);

}  // namespace pipewright::serve
