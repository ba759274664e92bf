#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/text/value.hpp"

// Conversions between the two sides of the form on the page: the text of a scenario as the user
// types it, and the values in the fields, by key.
namespace pipewright::serve {

inline constexpr const char* scenario_name = "scenario.yaml";  // in messages

// Parses the text of a scenario; a blank one is an empty scenario. Throws config::Error.
config::Value tree_of(const std::string& text);

// A change of one value: a dotted key and the YAML text of its new value. An empty text removes the
// key.
using Edit = std::pair<std::string, std::string>;

// Applies edits to a text. If an edit only replaces or adds a value, the rest of the text stays as
// it was typed; otherwise the text is written anew below its leading comments. Throws
// config::Error.
std::string edited(std::string text, const std::vector<Edit>& edits);

// Returns the values of all keys as YAML: "parallel.tp" -> "8". A list is one value. The number of
// devices is under parallel.pp and the name of the schedule under schedule.name, wherever they were
// written.
std::map<std::string, std::string> values_of(const config::Value& tree);

// A fault of a scenario, with the field of the form and the position in the text beside which the
// page shows it.
struct Fault {
  std::string message;  // without the position in the text
  std::string key;      // empty: unknown
  int line = 0;         // from 1; 0: unknown
  int column = 0;
};
Fault fault_of(const config::Error& error, const std::string& text);

}  // namespace pipewright::serve
