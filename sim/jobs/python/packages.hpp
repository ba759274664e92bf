#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::jobs::python {

// Folders in which modules are looked up.
class Packages {
 public:
  // Adds the folder that a user names: one with packages, a checkout with a folder `src` of
  // packages, or a package itself.
  void add_folder(const std::filesystem::path& folder);
  // Adds the folders in which a file's own package may lie: those above the file, and `src` in
  // them.
  void add_above(const std::filesystem::path& file);

  // Returns the file of a module by its dotted name; none for modules of other folders.
  std::optional<std::filesystem::path> find(std::string_view module) const;

 private:
  void add(std::filesystem::path folder);

  std::vector<std::filesystem::path> folders_;
};

// Returns the file of a module below a folder: a.b is a/b.py or a/b/__init__.py. A package without
// __init__.py has no file.
std::optional<std::filesystem::path> module_file(const std::filesystem::path& folder,
                                                 std::string_view module);

}  // namespace pipewright::jobs::python
