#pragma once

#include <string>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"

// Resolves the value of the key `model`: a map of model keys or of config.json keys, a name in the
// library, or the path of a model file, of a Hugging Face config.json or of a folder with one.
namespace pipewright::config {

// Returns the map of a model's keys, which the field contains or which is in the file that it
// names.
Value model_tree(const Field& field);
// Returns the map of a model's keys, as model_tree() does, with the key `name` added if it has
// none.
Value named_model_tree(const Field& field);
// Returns whether a map has the keys of a Hugging Face config.json instead of model keys.
bool is_config(const Value& model);
// Returns the name of the model that a field refers to by a name or a path.
std::string model_label(const Field& field);

}  // namespace pipewright::config
