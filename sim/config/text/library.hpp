#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/yaml.hpp"

// Finds the files of the library: models, GPUs and clusters that come with the program, one file
// each.
namespace pipewright::config {

// Returns the folders of the library: those in the environment variable PIPEWRIGHT_PLATFORMS,
// separated by colons, followed by the one that comes with the program. Earlier folders take
// precedence.
std::vector<std::filesystem::path> library_folders();

// Sets the library folder that comes with the program. Without it, or with an empty path, it is the
// folder that is installed beside the running executable, or else `platforms` in the source tree. A
// program that contains pipewright as a library must call it before it reads the first scenario.
void set_own_library(std::filesystem::path folder);

// Returns whether a file lies in this folder of the library, such as "models", so that its name
// alone identifies it.
bool is_of_library(const std::filesystem::path& file, std::string_view folder);

// Returns the sorted names of the files in a folder of the library, without extension.
std::vector<std::string> library_names(std::string_view folder, std::string_view extension);

// Returns the path of a library file, such as ("models", "llama-3-8b", ".yaml"). `from` is the file
// that contains the name. If a file of the library contains its own name, the name means the file
// of the next folder, so that a user's version can change the one that comes with the program.
// Throws an Error that lists the names that begin with the unknown one and suggests the nearest
// name, or lists all names if none is near.
std::filesystem::path library_file(std::string_view folder, std::string_view name,
                                   std::string_view extension,
                                   const std::filesystem::path& from = {});

// Returns whether a text is to be looked up as a name in the library. A text with a slash, with the
// extension or with .json, which the YAML reader accepts too, is a path.
bool is_library_name(std::string_view text, std::string_view extension);

// Returns a short name for a file: its name without .yaml or .json. A config.json gets the name of
// its folder, or in a cache of the Hugging Face hub the name of the repository.
std::string label_of_file(const std::filesystem::path& path);

// Returns the file that a text names, either in the library or relative to the file that contains
// the text. Throws an Error at the field.
std::filesystem::path library_or_path(const Field& field, std::string_view folder,
                                      std::string_view extension);

// Returns the existing file that a text names, relative to the file that contains the text. Throws
// an Error at the field if there is none; `allowed` describes valid values.
std::filesystem::path existing_path(const Field& field, std::string_view allowed);

// Returns a field's map, or the map in the YAML file that the field names by a path or by a name in
// the library.
Value library_map(const Field& field, std::string_view folder, const Document& document);

// Adds an entry `name` to the map if it has none.
Value with_name(Value map, const Field& field, const std::string& name);

}  // namespace pipewright::config
