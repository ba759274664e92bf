#include "sim/jobs/python/packages.hpp"

#include <algorithm>
#include <array>

namespace pipewright::jobs::python {
namespace {

// Packages that are never part of a recipe, and whose functions have no effect on its settings.
constexpr std::array<std::string_view, 24> foreign_packages{
    "argparse",  "collections", "contextlib",   "copy",      "dataclasses", "enum",
    "functools", "importlib",   "inspect",      "itertools", "json",        "logging",
    "math",      "numpy",       "os",           "pathlib",   "random",      "re",
    "sys",       "torch",       "transformers", "types",     "typing",      "warnings"};

}  // namespace

std::optional<std::filesystem::path> module_file(const std::filesystem::path& folder,
                                                 std::string_view module) {
  std::string relative(module);
  std::ranges::replace(relative, '.', '/');
  std::error_code failed;
  for (const std::filesystem::path& file :
       {folder / (relative + ".py"), folder / relative / "__init__.py"})
    if (std::filesystem::is_regular_file(file, failed)) return file;
  return std::nullopt;
}

void Packages::add(std::filesystem::path folder) {
  if (folder == folder.root_path() || folder.empty()) return;
  if (std::ranges::find(folders_, folder) == folders_.end()) folders_.push_back(std::move(folder));
}

void Packages::add_folder(const std::filesystem::path& folder) {
  const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
  add(whole);
  add(whole / "src");
  add_above(whole);
}

void Packages::add_above(const std::filesystem::path& file) {
  std::filesystem::path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
  for (; folder != folder.root_path() && !folder.empty(); folder = folder.parent_path()) {
    add(folder);
    add(folder / "src");
  }
}

std::optional<std::filesystem::path> Packages::find(std::string_view module) const {
  const std::string_view package = module.substr(0, module.find('.'));
  if (module.empty() || std::ranges::find(foreign_packages, package) != foreign_packages.end())
    return std::nullopt;
  for (const std::filesystem::path& folder : folders_)
    if (std::optional<std::filesystem::path> file = module_file(folder, module)) return file;
  return std::nullopt;
}

}  // namespace pipewright::jobs::python
