#pragma once

#include <string>
#include <string_view>

namespace pipewright::jobs {

// Returns the library's model that a name means: the library's own name, a repository of Hugging
// Face ("meta-llama/Meta-Llama-3-70B"), or the name of a recipe or of a configuration
// ("llama3_70b_pretrain_config", "llama3.1_8B.yaml"). Words that do not belong to a model, such as
// "pretrain" or "64gpu", may stand around the name. Empty for every other name: a part of a name
// never means a model.
std::string model_named(std::string_view text);

// Returns what an error about an unknown name suggests: "give --model, such as --model
// llama-3-70b". It names a model only if the sizes and generations in both names are the same.
std::string model_advice(std::string_view text);

}  // namespace pipewright::jobs
