#pragma once

#include <string>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"

// What stands for a model in a scenario: a map of its keys, or of those of a config.json; the name
// of one in the library; or the path of a file of such keys, of a config.json of Hugging Face or of
// a folder with one.
namespace pipewright::config {

// The map of a model's keys that a field stands for.
Value model_tree(const Field& field);
// The same with a name where it says none.
Value named_model_tree(const Field& field);
// Whether a map is a config.json of Hugging Face that stands in place of a model's keys.
bool is_config(const Value& model);
// What a model is called that a name or a path stands for.
std::string model_label(const Field& field);

}  // namespace pipewright::config
