#include "sim/jobs/nemo/entries.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sim/jobs/nemo/model_objects.hpp"
#include "sim/jobs/python/builtins.hpp"
#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs::nemo {
namespace {

using python::Attribute;
using python::List;
using python::Object;
using python::Value;
using ObjectPtr = std::shared_ptr<Object>;

// Letters of a layout of the pipeline (config::read_partition) by Megatron-LM's words.
struct LayerWord {
  std::string_view word;
  char letter;
};
constexpr std::array layer_words{LayerWord{"embedding", 'E'}, LayerWord{"decoder", 't'},
                                 LayerWord{"mtp", 'm'}, LayerWord{"loss", 'L'}};

// Layout of the pipeline as text, from lists of the layers of all stages; none if it is not known.
std::optional<std::string> layout_text(const std::vector<Value>& stages) {
  std::string text;
  for (const Value& stage : stages) {
    const std::optional<std::vector<Value>> layers = python::items_of(stage);
    if (!layers) return std::nullopt;
    if (&stage != stages.data()) text += '|';
    for (const Value& layer : *layers) {
      const std::string word = python::text_of(layer).value_or("");
      const auto row = std::ranges::find(layer_words, python::last_part(word), &LayerWord::word);
      if (row == layer_words.end()) return std::nullopt;
      text += row->letter;
    }
  }
  return text;
}

// Returns whether a value is a flag, a number, a text or a name, and not None.
bool is_plain(const Value& value) {
  return !std::holds_alternative<std::monostate>(value) && python::is_known(value) &&
         python::text_of(value).has_value();
}

// Turns a configuration into entries.
class Flattener {
 public:
  explicit Flattener(std::vector<Named>& named) : named_(named) {}

  // Adds the attributes of an object below a path, in the order of their last assignments. A class
  // of the package that describes a model counts with its defaults.
  void add(const Object& object, const std::string& path) {
    constexpr int deepest = 20;
    if (++depth_ > deepest) return;
    const bool counted_defaults =
        std::exchange(counts_defaults_, path == "model" && describes_model(object));
    std::vector<const Attribute*> attributes;
    for (const Attribute& attribute : object.attributes) attributes.push_back(&attribute);
    std::ranges::stable_sort(attributes, {}, [&](const Attribute* attribute) {
      return std::pair(path.empty() ? rank(attribute->name) : 0, attribute->order);
    });
    for (const Attribute* const attribute : attributes)
      add(*attribute, path.empty() ? attribute->name : path + "." + attribute->name);
    counts_defaults_ = counted_defaults;
    --depth_;
  }

 private:
  // Sections whose settings replace those of others of the same name come last.
  static std::size_t rank(std::string_view section) {
    constexpr std::array<std::string_view, 6> order{"dataset", "optimizer",       "model",
                                                    "ddp",     "mixed_precision", "comm_overlap"};
    const auto it = std::ranges::find(order, section);
    return it == order.end() ? 0 : static_cast<std::size_t>(it - order.begin()) + 1;
  }

  void push(const Attribute& attribute, const std::string& path, std::vector<std::string> values) {
    named_.push_back({.path = path,
                      .values = std::move(values),
                      .written = attribute.written,
                      .origin = attribute.origin});
  }

  void push_unknown(const Attribute& attribute, const std::string& path,
                    const std::string& reason) {
    push(attribute, path, {fmt::format("{}{}{}", unknown_begin, reason, unknown_end)});
  }

  void add(const Attribute& attribute, const std::string& path) {
    if (const auto* const held = std::get_if<ObjectPtr>(&attribute.value))
      return add_object(attribute, **held, path);
    if (attribute.name.starts_with('_')) return;
    if (attribute.order == 0 && !(counts_defaults_ && is_plain(attribute.value))) return;
    if (const auto* const unknown = std::get_if<python::Unknown>(&attribute.value))
      return push_unknown(attribute, path, unknown->text);
    if (const auto* const list = std::get_if<std::shared_ptr<List>>(&attribute.value))
      return add_list(attribute, **list, path);
    if (const auto* const entries =
            std::get_if<std::shared_ptr<python::Dictionary>>(&attribute.value))
      return add_dictionary(attribute, **entries, path);
    if (const std::optional<std::string> text = python::text_of(attribute.value))
      push(attribute, path, {*text});
  }

  void add_list(const Attribute& attribute, const List& list, const std::string& path) {
    if (attribute.name == "pipeline_model_parallel_layout") {
      const std::optional<std::string> layout = layout_text(list.items);
      if (!layout) return push_unknown(attribute, path, "the layout");
      return push(attribute, path, {*layout});
    }
    std::vector<std::string> values;
    for (const Value& item : list.items) {
      std::optional<std::string> text = python::text_of(item);
      if (!text) return push_unknown(attribute, path, "an item of the list");
      values.push_back(std::move(*text));
    }
    if (values.empty()) values.emplace_back("None");
    push(attribute, path, std::move(values));
  }

  void add_dictionary(const Attribute& attribute, const python::Dictionary& dictionary,
                      const std::string& path) {
    for (const auto& [key, value] : dictionary.entries) {
      const std::string name = python::text_of(key).value_or("");
      Attribute entry = attribute;
      entry.name = name;
      entry.value = value;
      entry.written = fmt::format("{}.{} = {}", path, name, python::text_of(value).value_or(".."));
      add(entry, fmt::format("{}.{}", path, name));
    }
  }

  void add_object(const Attribute& attribute, const Object& object, const std::string& path) {
    // The class of adapters chooses their kind.
    if (path == "peft") {
      push(attribute, path,
           {object.type == nullptr ? name_and_arguments(object)
                                   : std::string(python::last_part(object.made_by))});
      return add(object, path);
    }
    if (attribute.name == "tp_comm_overlap_cfg") return push(attribute, path, {"given"});
    if (const std::string repository = repository_of(object); !repository.empty())
      named_.push_back({.path = path + ".hf_model_id",
                        .values = {repository},
                        .written = object.written,
                        .origin = object.origin});
    else if (object.type == nullptr && !object.is_assumed && attribute.name == "mixed_precision")
      push(attribute, path, {name_and_arguments(object)});
    else if (!python::is_known(attribute.value) && !object.is_assumed && attribute.order > 0)
      push_unknown(attribute, path, object.written);
    // Parts of a model, such as that for images, have settings of the same names as the whole.
    const bool is_part = path.starts_with("model.") && attribute.name != "config";
    if (!is_part) return add(object, path);
    if (std::ranges::any_of(object.attributes, [](const Attribute& own) { return own.order > 0; }))
      push(attribute, path, {"given"});
  }

  // Name and arguments of a call that is not followed: "precision fp8_cs".
  static std::string name_and_arguments(const Object& object) {
    std::string text(python::last_part(object.made_by));
    for (const Value& argument : object.arguments)
      text += " " + python::text_of(argument).value_or("");
    return text;
  }

  std::vector<Named>& named_;
  int depth_ = 0;
  bool counts_defaults_ = false;
};

}  // namespace

void add_entries(const Object& object, const std::string& path, std::vector<Named>& named) {
  Flattener(named).add(object, path);
}

}  // namespace pipewright::jobs::nemo
