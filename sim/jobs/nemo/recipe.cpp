#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/nemo/bridge_setup.hpp"
#include "sim/jobs/nemo/entries.hpp"
#include "sim/jobs/nemo/model_objects.hpp"
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
  add_entries(**config, "", recipe.named);
  apply_bridge_setup(**config, recipe.named);
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
      add_entries(**object, "", recipe.named);
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
  add_entries(all, "", recipe.named);
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
