#include <algorithm>
#include <filesystem>
#include <utility>

#include "sim/config/text/value.hpp"
#include "sim/jobs/python/interpreter.hpp"
#include "sim/jobs/python/interpreter_state.hpp"
#include "sim/jobs/request/sources.hpp"

namespace pipewright::jobs::python {

Interpreter::Interpreter(Packages packages, Host host)
    : packages_(std::move(packages)), host_(std::move(host)) {}

Interpreter::~Interpreter() {
  for (const auto& [file, module] : modules_)
    if (module->frame != nullptr) module->frame->names.clear();
  for (const std::shared_ptr<Frame>& frame : closures_) frame->names.clear();
  for (const std::shared_ptr<Object>& object : with_receiver_) object->receiver.reset();
}

std::shared_ptr<Module> Interpreter::load(const std::string& file, const std::string& text) {
  packages_.add_above(file);
  auto module = std::make_shared<Module>();
  module->name = std::filesystem::path(file).stem().string();
  module->file = file;
  module->text = text;
  module->is_package = module->name == "__init__";
  modules_[std::filesystem::absolute(file).lexically_normal().string()] = module;
  module->statements = parse(module->text, module->file);
  return interpret(std::move(module));
}

std::shared_ptr<Module> Interpreter::load_module(const std::string& name) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  by_name_[name] = nullptr;
  const std::optional<std::filesystem::path> file = packages_.find(name);
  if (!file) return nullptr;
  std::shared_ptr<Module> module = load_file(*file, name);
  by_name_[name] = module;
  return module;
}

std::shared_ptr<Module> Interpreter::load_file(const std::filesystem::path& file,
                                               const std::string& name) {
  const std::string path = file.lexically_normal().string();
  const auto known = modules_.find(std::filesystem::absolute(path).lexically_normal().string());
  if (known != modules_.end()) return known->second;
  constexpr std::size_t max_files = 2000;
  if (modules_.size() >= max_files) return nullptr;
  auto module = std::make_shared<Module>();
  modules_[std::filesystem::absolute(path).lexically_normal().string()] = module;
  by_name_[name] = module;
  module->name = name;
  module->file = path;
  module->is_package = file.filename() == "__init__.py";
  module->text = read_source(path).text;
  try {
    module->statements = parse(module->text, module->file);
  } catch (const config::Error& error) {
    // A file that the recipe does not need may have statements that are not read.
    note(std::string("the file is not read: ") + error.message(), error.location());
  }
  return interpret(std::move(module));
}

std::shared_ptr<Module> Interpreter::interpret(std::shared_ptr<Module> module) {
  module->frame = std::make_shared<Frame>();
  module->frame->module = module;
  const FrameChange change(*this, module->frame);
  // The statements run regardless of the conditions around the import.
  std::vector<std::string> conditions;
  std::swap(conditions, conditions_);
  try {
    for (const NodePtr& statement : module->statements) run(*statement);
  } catch (const Raised& raised) {
    note("the file raises " + raised.text, raised.origin);
  }
  std::swap(conditions, conditions_);
  return module;
}

std::string Interpreter::absolute_name(const Module& module, const std::string& name) const {
  const std::size_t dots = std::min(name.find_first_not_of('.'), name.size());
  if (dots == 0) return name;
  std::string base = module.name;
  const std::size_t levels = module.is_package ? dots - 1 : dots;
  for (std::size_t i = 0; i < levels; ++i) {
    const std::size_t dot = base.rfind('.');
    base = dot == std::string::npos ? "" : base.substr(0, dot);
  }
  const std::string rest = name.substr(dots);
  if (base.empty() || rest.empty()) return base + rest;
  return base + "." + rest;
}

std::optional<Value> Interpreter::find_imported(const std::shared_ptr<Module>& module,
                                                const Module::Import& import) {
  const std::string last(last_part(import.name.empty() ? import.module : import.name));
  if (host_.functions.contains(last) ||
      std::ranges::find(host_.external, std::string_view(last)) != host_.external.end())
    return External{last};
  const std::string name = absolute_name(*module, import.module);
  std::shared_ptr<Module> source = load_module(name);
  if (source == nullptr && import.module.starts_with('.')) {
    // The package of a file that was given by its path may have a name of its own.
    std::filesystem::path folder = std::filesystem::path(module->file).parent_path();
    const std::size_t dots = std::min(import.module.find_first_not_of('.'), import.module.size());
    for (std::size_t i = 1; i < dots; ++i) folder = folder.parent_path();
    const std::string rest = import.module.substr(dots);
    if (const auto file = module_file(folder, rest.empty() ? import.name : rest)) {
      source = load_file(*file, name);
      if (rest.empty() && source != nullptr) return source;
    }
  }
  if (import.name.empty()) {
    if (source != nullptr) return source;
    return External{import.module};
  }
  if (source != nullptr)
    if (std::optional<Value> value = find(source, import.name)) return value;
  if (std::shared_ptr<Module> inner = load_module(name + "." + import.name)) return inner;
  return External{name + "." + import.name};
}

std::optional<Value> Interpreter::find(const std::shared_ptr<Module>& module,
                                       const std::string& name) {
  // Modules may import all names of each other.
  const std::pair<const Module*, std::string> search(module.get(), name);
  const bool is_nested = std::ranges::find(searches_, search) != searches_.end();
  if (is_nested || module->frame == nullptr) return std::nullopt;
  searches_.push_back(search);
  std::optional<Value> value = find_in(module, name);
  searches_.pop_back();
  return value;
}

std::optional<Value> Interpreter::find_in(const std::shared_ptr<Module>& module,
                                          const std::string& name) {
  if (host_.functions.contains(name)) return External{name};
  if (const auto own = module->frame->names.find(name); own != module->frame->names.end())
    return own->second;
  if (const auto import = module->imports.find(name); import != module->imports.end())
    return find_imported(module, import->second);
  if (!name.starts_with('_'))
    for (auto star = module->star_imports.rbegin(); star != module->star_imports.rend(); ++star)
      if (const std::shared_ptr<Module> source = load_module(absolute_name(*module, *star)))
        if (std::optional<Value> value = find(source, name)) return value;
  if (module->is_package)
    if (std::shared_ptr<Module> inner = load_module(module->name + "." + name)) return inner;
  return std::nullopt;
}

}  // namespace pipewright::jobs::python
