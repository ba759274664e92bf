#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/python/builtins.hpp"
#include "sim/jobs/python/interpreter.hpp"
#include "sim/jobs/request/draft.hpp"
#include "sim/jobs/request/model_names.hpp"
#include "sim/jobs/shell/words.hpp"

// Recipes of Megatron-Bridge and NeMo: functions in Python that return a configuration.
namespace pipewright::jobs::nemo {
namespace {

using python::Arguments;
using python::Attribute;
using python::External;
using python::Interpreter;
using python::List;
using python::Object;
using python::Value;
using ObjectPtr = std::shared_ptr<Object>;

// Packages of recipes by their function names. Benchmarks come first, as in load_recipe() of
// scripts/training/recipe_runner.py.
constexpr std::array<std::string_view, 2> recipe_packages{"megatron.bridge.perf_recipes",
                                                          "megatron.bridge.recipes"};
constexpr std::string_view nemo_recipes = "nemo.collections.llm.recipes";
constexpr std::string_view diffusion_package = "megatron.bridge.diffusion.";
constexpr std::string_view precision_module = "megatron.bridge.training.mixed_precision";

// Functions that make the configuration of a model from a repository of Hugging Face.
constexpr std::array<std::string_view, 4> provider_functions{
    "AutoBridge", "from_hf_pretrained", "to_megatron_provider", "get_model_config"};

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

// Repository of Hugging Face whose configuration an object has; empty for other objects.
std::string repository_of(const Object& object) {
  if (object.is_assumed) return "";
  for (const Object* each = &object; each != nullptr; each = each->receiver.get())
    if (python::last_part(each->made_by) == "from_hf_pretrained" && !each->arguments.empty())
      return python::text_of(each->arguments.front()).value_or("");
  return "";
}

bool makes_provider(const Object& object) {
  const std::string_view made_by = python::last_part(object.made_by);
  return std::ranges::find(provider_functions, made_by) != provider_functions.end() ||
         made_by.ends_with("Provider");
}

std::optional<Value> default_attribute(const Object& object, std::string_view name) {
  if (!makes_provider(object)) return std::nullopt;
  const auto row = std::ranges::find(model_defaults, name, &ModelDefault::name);
  if (row != model_defaults.end()) {
    if (const auto* const flag = std::get_if<bool>(&row->value)) return Value(*flag);
    if (const auto* const number = std::get_if<int>(&row->value))
      return Value(std::int64_t{*number});
    if (const auto* const text = std::get_if<std::string_view>(&row->value))
      return Value(std::string(*text));
    return Value();
  }
  const auto attribute = std::ranges::find(library_attributes, name, &LibraryAttribute::name);
  const std::string model = model_named(repository_of(object));
  if (attribute == library_attributes.end() || model.empty()) return std::nullopt;
  const config::Value map =
      config::read_yaml_file(config::library_file("models", model, ".yaml").string());
  const config::Value* const value = config::value_at(map, attribute->key);
  if (value == nullptr)
    return attribute->name == "num_moe_experts" ? std::optional(Value()) : std::nullopt;
  return Value(static_cast<std::int64_t>(
      whole_number({.values = {value->text}, .written = value->text, .origin = value->origin})));
}

// apply_flex_dispatcher_backend() of megatron/bridge/training/flex_dispatcher_backend.py, on GPUs
// that have the kernels.
Value apply_dispatcher(Interpreter& interpreter, const Arguments& arguments,
                       const std::string& written, const config::Origin& origin) {
  const Value* backend = arguments.keyword("moe_flex_dispatcher_backend");
  if (backend == nullptr && arguments.values.size() > 1) backend = &arguments.values[1];
  const auto* const model =
      arguments.values.empty() ? nullptr : std::get_if<ObjectPtr>(&arguments.values.front());
  const std::string name = backend == nullptr ? "" : python::text_of(*backend).value_or("");
  if (model == nullptr || (name != "deepep" && name != "hybridep")) return Value();
  const Interpreter::Lookup experts = interpreter.look_up(*model, "num_moe_experts");
  if (experts.value && python::truth_of(*experts.value) == false) return Value();
  interpreter.set_attribute(*model, "moe_token_dispatcher_type", std::string("flex"), written,
                            origin);
  interpreter.set_attribute(*model, "moe_flex_dispatcher_backend", name, written, origin);
  interpreter.set_attribute(*model, "moe_shared_expert_overlap", false, written, origin);
  return Value();
}

python::Packages packages_of(const JobWords& words) {
  python::Packages packages;
  for (const auto& [name, value] : words.variables) {
    if (name != "PACKAGE") continue;
    std::error_code failed;
    if (!std::filesystem::is_directory(value, failed))
      throw config::Error(fmt::format("PACKAGE={}: there is no such folder", value))
          .allow("a folder with the package of the recipes");
    packages.add_folder(value);
  }
  return packages;
}

python::Host host() {
  return {.functions = {{"apply_flex_dispatcher_backend", apply_dispatcher}},
          .external = {provider_functions.begin(), provider_functions.end()},
          .attribute = default_attribute};
}

config::Error refusal_of(const python::Raised& raised) {
  return config::Error(
      config::locate(raised.origin, fmt::format("the recipe raises {}", raised.text)));
}

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

// Returns whether an object is a model whose sizes are those of its class and arguments, and not of
// a repository.
bool describes_model(const Object& object) {
  return object.type != nullptr && makes_provider(object) && repository_of(object).empty();
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

const Named* last_entry(const std::vector<Named>& named, std::string_view path) {
  const auto it = std::find_if(named.rbegin(), named.rend(),
                               [&](const Named& entry) { return entry.path == path; });
  return it == named.rend() ? nullptr : &*it;
}

bool says(const std::vector<Named>& named, std::string_view path, bool otherwise) {
  const Named* const entry = last_entry(named, path);
  return entry == nullptr || entry->values.empty() ? otherwise : !says_no(entry->values.front());
}

// Applies what Megatron-Bridge does to a configuration before training.
class BridgeSetup {
 public:
  BridgeSetup(Object& config, std::vector<Named>& named) : config_(config), named_(named) {}

  void apply() {
    read_precision_defaults();
    read_overlap();
    read_recomputation();
    read_offloading();
    read_vocabulary();
    read_expert_ranks();
  }

 private:
  Object* section(std::string_view name) {
    Attribute* const attribute = config_.find(name);
    const auto* const object =
        attribute == nullptr ? nullptr : std::get_if<ObjectPtr>(&attribute->value);
    return object == nullptr ? nullptr : object->get();
  }

  void erase(std::string_view path) {
    std::erase_if(named_, [&](const Named& entry) { return entry.path == path; });
  }

  // MixedPrecisionConfig.setup() copies the precision's settings to `ddp`, defaults included.
  void read_precision_defaults() {
    Object* const precision = section("mixed_precision");
    Attribute* const reduce =
        precision == nullptr ? nullptr : precision->find("grad_reduce_in_fp32");
    if (reduce == nullptr || reduce->order > 0) return;
    if (const std::optional<std::string> text = python::text_of(reduce->value))
      named_.push_back({.path = "mixed_precision.grad_reduce_in_fp32",
                        .values = {*text},
                        .written = precision->written,
                        .origin = precision->origin});
  }

  // CommOverlapConfig.setup() overlaps the collectives of data parallelism unless it is told not
  // to, whatever `ddp` says, and overlaps those of tensor parallelism only with sequence
  // parallelism.
  void read_overlap() {
    const Object* const overlap = section("comm_overlap");
    if (overlap == nullptr || python::last_part(overlap->made_by) != "CommOverlapConfig") return;
    if (says(named_, "ddp.use_distributed_optimizer", true))
      for (const char* const name : {"overlap_grad_reduce", "overlap_param_gather"}) {
        const std::string path = fmt::format("comm_overlap.{}", name);
        const Named* const own = last_entry(named_, path);
        if (own != nullptr && own->values != std::vector<std::string>{"None"}) continue;
        named_.push_back({.path = path,
                          .values = {"True"},
                          .written = overlap->written,
                          .origin = overlap->origin});
      }
    if (!says(named_, "model.sequence_parallel", false)) erase("comm_overlap.tp_comm_overlap");
  }

  // Modules are recomputed only with the granularity `selective`.
  void read_recomputation() {
    const Named* const granularity = last_entry(named_, "model.recompute_granularity");
    const bool is_selective =
        granularity != nullptr && granularity->values == std::vector<std::string>{"selective"};
    if (!is_selective) erase("model.recompute_modules");
    if (granularity == nullptr || says_no(granularity->values.front()))
      for (const char* const path : {"model.recompute_method", "model.recompute_num_layers"})
        erase(path);
  }

  // Experts that are divided among ranks are not cut by tensor parallelism unless the recipe says
  // so (models/transformer_config.py), other than in Megatron-LM.
  void read_expert_ranks() {
    const Named* const ep = last_entry(named_, "model.expert_model_parallel_size");
    const Named* const etp = last_entry(named_, "model.expert_tensor_parallel_size");
    const bool has_own = etp != nullptr && etp->values != std::vector<std::string>{"None"};
    if (has_own || ep == nullptr || says_no(ep->values.front()) ||
        ep->values == std::vector<std::string>{"1"})
      return;
    named_.push_back({.path = "model.expert_tensor_parallel_size",
                      .values = {"1"},
                      .written = ep->written,
                      .origin = ep->origin});
  }

  // Layers keep their activations on the host only with `cpu_offloading`.
  void read_offloading() {
    if (!says(named_, "model.cpu_offloading", false)) erase("model.cpu_offloading_num_layers");
    erase("model.cpu_offloading");
  }

  // The tokenizer's vocabulary replaces that of a model only where the configuration asks for it,
  // or where the model has none (training/setup.py, _validate_and_set_vocab_size).
  void read_vocabulary() {
    const Object* const model = section("model");
    const bool has_none = model != nullptr && describes_model(*model) &&
                          last_entry(named_, "model.vocab_size") == nullptr;
    if (!has_none && !says(named_, "tokenizer.use_tokenizer_vocab_size", false))
      erase("tokenizer.vocab_size");
    // Copies of settings of other sections.
    for (const char* const path :
         {"optimizer.bf16", "optimizer.fp16", "optimizer.overlap_param_gather",
          "tokenizer.tensor_model_parallel_size"})
      erase(path);
  }

  Object& config_;
  std::vector<Named>& named_;
};

// Replaces the name of a precision by the object that the package makes of it.
void resolve_precision(Interpreter& interpreter, Object& config) {
  Attribute* const precision = config.find("mixed_precision");
  const auto* const name =
      precision == nullptr ? nullptr : std::get_if<std::string>(&precision->value);
  if (name == nullptr) return;
  std::string function = *name;
  std::ranges::replace(function, '-', '_');
  const std::shared_ptr<python::Module> module =
      interpreter.load_module(std::string(precision_module));
  if (module == nullptr) return;
  const std::optional<Value> found = interpreter.find(module, function);
  if (!found || !std::holds_alternative<std::shared_ptr<const python::Function>>(*found)) return;
  const Attribute before = *precision;
  Value made = interpreter.call(*found, {}, before.written, before.origin);
  if (std::holds_alternative<ObjectPtr>(made)) precision->value = std::move(made);
}

// Sets the number of GPUs if the recipe's name contains it, as in "64gpu".
void gpus_of_name(const std::string& name, const std::string& source, Request& request) {
  const std::size_t at = name.find("gpu");
  if (at == std::string::npos) return;
  std::size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
  if (begin == at || at - begin > 7) return;
  request.gpus = std::stoull(name.substr(begin, at - begin));
  request.gpus_from = name;
  request.gpus_origin = {.source = source};
}

// Returns whether a configuration comes from a function that is not in the files.
bool is_unread(const Object& config) {
  return config.type == nullptr && !python::last_part(config.made_by).empty() &&
         std::islower(static_cast<unsigned char>(python::last_part(config.made_by).front())) != 0;
}

void add_calls(const Interpreter& interpreter, Recipe& recipe) {
  for (const python::NotFollowed& call : interpreter.not_followed())
    recipe.named.push_back({.path = std::string(not_followed_path),
                            .values = {},
                            .written = call.text,
                            .origin = call.origin});
}

// Adds the function from which a configuration starts, and the model that its name means.
void add_unread(const Object& config, Recipe& recipe) {
  recipe.unread = {.text = config.written, .origin = config.origin};
  std::string_view rest = config.made_by;
  while (!rest.empty()) {
    const std::string_view part = python::last_part(rest);
    if (!model_named(part).empty())
      return recipe.named.push_back({.path = "recipe",
                                     .values = {std::string(part)},
                                     .written = config.written,
                                     .origin = config.origin});
    rest = rest.substr(0, rest.size() - part.size());
    if (rest.ends_with('.')) rest.remove_suffix(1);
  }
}

// Throws config::Error if a configuration trains a model of images or video, whose work the sizes
// of a language model do not tell.
void check_is_language_model(Object& config) {
  const Attribute* const attribute = config.find("model");
  const auto* const model =
      attribute == nullptr ? nullptr : std::get_if<ObjectPtr>(&attribute->value);
  if (model == nullptr || (*model)->type == nullptr || (*model)->type->module == nullptr) return;
  if (!(*model)->type->module->name.starts_with(diffusion_package)) return;
  throw config::Error(
      config::locate((*model)->origin,
                     fmt::format("{}: diffusion models of images or video are not modelled",
                                 (*model)->made_by)))
      .allow("a language model");
}

// Entries of the configuration that a recipe returns.
Recipe entries_of(Interpreter& interpreter, const Value& function, const std::string& name,
                  const config::Origin& origin) {
  Recipe recipe;
  Value result;
  try {
    result = interpreter.call(function, {}, fmt::format("{}()", name), origin);
  } catch (const python::Raised& raised) {
    throw refusal_of(raised);
  }
  const auto* const config = std::get_if<ObjectPtr>(&result);
  if (config == nullptr)
    throw config::Error(
        config::locate(origin, fmt::format("{} returns no configuration that can be read", name)));
  check_is_language_model(**config);
  resolve_precision(interpreter, **config);
  Flattener(recipe.named).add(**config, "");
  BridgeSetup(**config, recipe.named).apply();
  add_calls(interpreter, recipe);
  if (is_unread(**config)) add_unread(**config, recipe);
  return recipe;
}

// Names of the functions of a file that may be recipes.
std::vector<std::string> recipes_of(const python::Module& module) {
  std::vector<std::string> names;
  for (const python::NodePtr& statement : module.statements)
    if (statement->kind == python::Node::Kind::define && !statement->text.starts_with('_'))
      names.push_back(statement->text);
  return names;
}

// Entries of all objects and values of a file without functions.
Recipe entries_of_file(Interpreter& interpreter, const python::Module& module) {
  Recipe recipe;
  Object all;
  all.made_by = "File";
  for (const auto& [name, value] : module.frame->names) {
    if (const auto* const object = std::get_if<ObjectPtr>(&value)) {
      Flattener(recipe.named).add(**object, "");
      if (is_unread(**object)) add_unread(**object, recipe);
    } else {
      all.attributes.push_back(
          {.name = name,
           .value = value,
           .written = fmt::format("{} = {}", name, python::text_of(value).value_or("..")),
           .origin = {.source = module.file},
           .order = 1});
    }
  }
  Flattener(recipe.named).add(all, "");
  add_calls(interpreter, recipe);
  return recipe;
}

// Finds the file of a package that defines a function; empty if none does.
std::filesystem::path file_with(const std::filesystem::path& folder, const std::string& function) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           folder, std::filesystem::directory_options::skip_permission_denied, failed))
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  std::ranges::sort(files);
  const std::string definition = fmt::format("def {}(", function);
  for (const std::filesystem::path& file : files)
    if (read_source(file.string()).text.find(definition) != std::string::npos) return file;
  return {};
}

// Dotted name of a file of a package, whose own file is `init`.
std::string module_name(std::string_view package, const std::filesystem::path& init,
                        const std::filesystem::path& file) {
  std::string name = file.lexically_relative(init.parent_path()).replace_extension().string();
  std::ranges::replace(name, '/', '.');
  return fmt::format("{}.{}", package, name);
}

}  // namespace

Recipe read_python(const Source& source, const JobWords& words, Request& request) {
  Interpreter interpreter(packages_of(words), host());
  std::shared_ptr<python::Module> module;
  try {
    module = interpreter.load(source.name, source.text);
  } catch (const python::Raised& raised) {
    throw refusal_of(raised);
  }
  std::string name;
  for (const auto& [variable, value] : words.variables)
    if (variable == "RECIPE") name = value;
  const std::vector<std::string> names = recipes_of(*module);
  if (names.empty() && name.empty()) {
    gpus_of_name(source.name, source.name, request);
    return entries_of_file(interpreter, *module);
  }
  if (name.empty() && names.size() == 1) name = names.front();
  const std::optional<Value> function =
      name.empty() ? std::nullopt : interpreter.find(module, name);
  const bool is_missing = !function || std::holds_alternative<External>(*function);
  if (is_missing && !name.empty()) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view nearest = config::nearest_name(name, known);
    throw config::Error(fmt::format("{}: the file has no recipe {}", source.name, name))
        .suggest(nearest.empty()
                     ? fmt::format("choose one by RECIPE=NAME: {}", fmt::join(names, ", "))
                     : fmt::format("did you mean RECIPE={}?", nearest));
  }
  if (is_missing)
    throw config::Error(fmt::format("{}: the file has {} recipes", source.name, names.size()))
        .suggest(fmt::format("choose one by RECIPE=NAME: {}", fmt::join(names, ", ")));
  Recipe recipe = entries_of(interpreter, *function, name, {.source = source.name});
  request.name = name;
  if (interpreter.file_count() > 1) request.single = false;
  gpus_of_name(name, source.name, request);
  return recipe;
}

Recipe read_named_recipe(const NamedRecipe& named, const JobWords& words, Request& request) {
  const Word& recipe = named.name;
  python::Packages packages = packages_of(words);
  packages.add_above(recipe.origin.source);
  Interpreter interpreter(packages, host());
  const auto read = [&](const Value& function) {
    Recipe entries = entries_of(interpreter, function, recipe.text, recipe.origin);
    request.name = recipe.text;
    request.single = false;
    if (!request.gpus) gpus_of_name(recipe.text, recipe.origin.source, request);
    return entries;
  };
  for (const std::string_view package : recipe_packages) {
    const std::shared_ptr<python::Module> module = interpreter.load_module(std::string(package));
    if (module == nullptr) continue;
    const std::filesystem::path file =
        file_with(std::filesystem::path(module->file).parent_path(), recipe.text);
    std::optional<Value> function = interpreter.find(module, recipe.text);
    if (!file.empty())
      if (const auto own = interpreter.load_module(module_name(package, module->file, file)))
        function = interpreter.find(own, recipe.text);
    if (function && !std::holds_alternative<External>(*function)) return read(*function);
  }
  const std::string factory = fmt::format("{}.{}", nemo_recipes, recipe.text);
  if (const std::shared_ptr<python::Module> module = interpreter.load_module(factory))
    if (const auto function = interpreter.find(module, named.task + "_recipe"))
      return read(*function);
  return {.named = {}, .unread = {{.text = recipe.text, .origin = recipe.origin}}};
}

}  // namespace pipewright::jobs::nemo
