#pragma once

#include "sim/config/text/value.hpp"

// Reads models of Hugging Face from a repository's config.json, whose keys are those of
// transformers (src/transformers/models/*/configuration_*.py).
namespace pipewright::config::huggingface {

// Returns whether a map is a config.json: whether it has the key model_type or architectures.
bool is_config(const Value& map);

// Converts a config.json to the keys of a model file. Values keep their locations in config.json
// for error messages, and the key `notes` lists omissions and assumptions. Throws an Error at a key
// that affects time or memory and has no equivalent.
Value model_map(const Value& config);

}  // namespace pipewright::config::huggingface
