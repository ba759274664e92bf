#include "sim/jobs/nemo/model_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/python/builtins.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/model_names.hpp"

namespace pipewright::jobs::nemo {
namespace {

// Default of an attribute of a model's configuration that recipes read
// (megatron/core/transformer/transformer_config.py and megatron/core/model_parallel_config.py).
struct ModelDefault {
  std::string_view name;
  std::variant<std::monostate, bool, int, std::string_view> value;
};
constexpr std::array model_defaults{
    ModelDefault{"tensor_model_parallel_size", 1},
    ModelDefault{"pipeline_model_parallel_size", 1},
    ModelDefault{"virtual_pipeline_model_parallel_size", {}},
    ModelDefault{"context_parallel_size", 1},
    ModelDefault{"expert_model_parallel_size", 1},
    ModelDefault{"sequence_parallel", false},
    ModelDefault{"recompute_granularity", {}},
    ModelDefault{"recompute_modules", {}},
    ModelDefault{"cuda_graph_impl", std::string_view("none")},
    ModelDefault{"cuda_graph_scope", {}},
    ModelDefault{"cuda_graph_modules", {}},
    ModelDefault{"moe_flex_dispatcher_backend", std::string_view("deepep")},
    ModelDefault{"overlap_moe_expert_parallel_comm", false},
    ModelDefault{"use_transformer_engine_op_fuser", false},
};

// Attributes of a model's configuration for keys of the library's models.
struct LibraryAttribute {
  std::string_view name;
  std::string_view key;
};
constexpr std::array library_attributes{
    LibraryAttribute{"num_layers", "layers"},
    LibraryAttribute{"hidden_size", "hidden"},
    LibraryAttribute{"num_attention_heads", "heads"},
    LibraryAttribute{"vocab_size", "vocabulary"},
    LibraryAttribute{"num_moe_experts", "experts.count"},
};

}  // namespace

std::string repository_of(const python::Object& object) {
  if (object.is_assumed) return "";
  for (const python::Object* each = &object; each != nullptr; each = each->receiver.get())
    if (python::last_part(each->made_by) == "from_hf_pretrained" && !each->arguments.empty())
      return python::text_of(each->arguments.front()).value_or("");
  return "";
}

bool makes_provider(const python::Object& object) {
  const std::string_view made_by = python::last_part(object.made_by);
  return std::ranges::find(provider_functions, made_by) != provider_functions.end() ||
         made_by.ends_with("Provider");
}

std::optional<python::Value> default_attribute(const python::Object& object,
                                               std::string_view name) {
  if (!makes_provider(object)) return std::nullopt;
  const auto row = std::ranges::find(model_defaults, name, &ModelDefault::name);
  if (row != model_defaults.end()) {
    if (const auto* const flag = std::get_if<bool>(&row->value)) return python::Value(*flag);
    if (const auto* const number = std::get_if<int>(&row->value))
      return python::Value(std::int64_t{*number});
    if (const auto* const text = std::get_if<std::string_view>(&row->value))
      return python::Value(std::string(*text));
    return python::Value();
  }
  const auto attribute = std::ranges::find(library_attributes, name, &LibraryAttribute::name);
  const std::string model = model_named(repository_of(object));
  if (attribute == library_attributes.end() || model.empty()) return std::nullopt;
  const config::Value map =
      config::read_yaml_file(config::library_file("models", model, ".yaml").string());
  const config::Value* const value = config::value_at(map, attribute->key);
  if (value == nullptr)
    return attribute->name == "num_moe_experts" ? std::optional(python::Value()) : std::nullopt;
  return python::Value(static_cast<std::int64_t>(
      whole_number({.values = {value->text}, .written = value->text, .origin = value->origin})));
}

bool describes_model(const python::Object& object) {
  return object.type != nullptr && makes_provider(object) && repository_of(object).empty();
}

}  // namespace pipewright::jobs::nemo
