#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sim/jobs/python/interpreter.hpp"

// Objects of recipes that are the configuration of a model.
namespace pipewright::jobs::nemo {

// Functions that make the configuration of a model from a repository of Hugging Face.
inline constexpr std::array<std::string_view, 4> provider_functions{
    "AutoBridge", "from_hf_pretrained", "to_megatron_provider", "get_model_config"};

// Returns the repository of Hugging Face whose configuration an object has; empty for other
// objects.
std::string repository_of(const python::Object& object);

// Returns whether an object is the configuration of a model.
bool makes_provider(const python::Object& object);

// Returns whether an object is a model whose sizes are those of its class and arguments, and not of
// a repository.
bool describes_model(const python::Object& object);

// Returns the default of an attribute of a model's configuration, or the value in the library's
// model; nothing if neither is known.
std::optional<python::Value> default_attribute(const python::Object& object, std::string_view name);

}  // namespace pipewright::jobs::nemo
