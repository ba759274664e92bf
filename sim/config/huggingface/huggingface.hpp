#pragma once

#include "sim/config/text/value.hpp"

// Models as Hugging Face releases them: the config.json of a repository, whose keys follow
// transformers (src/transformers/models/*/configuration_*.py).
namespace pipewright::config::huggingface {

// Whether a map is one, by its key model_type or architectures.
bool is_config(const Value& map);

// The same model in the keys of our own models, each value where the key of config.json stands that
// it comes from. What it leaves out and assumes is told by `notes`. Throws an Error at the key of
// what matters for time or memory and cannot be said in ours.
Value model_map(const Value& config);

}  // namespace pipewright::config::huggingface
