#pragma once

#include <string>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"

// The value of the key model: a map of model keys or of config.json keys, a name in the library, or
// the path of a model file, of a Hugging Face config.json or of a folder with one.
namespace pipewright::config {

// The map of model keys that a field contains or names.
Value model_tree(const Field& field);
// The same map with a name added if it has none.
Value named_model_tree(const Field& field);
// Returns whether a map has the keys of a Hugging Face config.json instead of model keys.
bool is_config(const Value& model);
// Name of the model that a name or a path refers to.
std::string model_label(const Field& field);

}  // namespace pipewright::config
