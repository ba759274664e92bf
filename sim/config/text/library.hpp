#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text/fields.hpp"
#include "sim/config/text/yaml.hpp"

// The models, GPUs and clusters that come with the program, one file each.
namespace pipewright::config {

// The folders of the library: those that the environment variable PIPEWRIGHT_PLATFORMS names, with
// colons between them, and last the one that comes with the program. What two have by the same name
// is the first one's.
std::vector<std::filesystem::path> library_folders();

// The folder that comes with the program is the one that was set here; else the one that is
// installed beside the running executable; else, where that still exists, the `platforms` of the
// source tree. A program that carries the library in a place of its own sets it before the first
// scenario is read; an empty path takes that back.
void set_own_library(std::filesystem::path folder);

// Whether a file is one that its name alone finds, in this folder of the library.
bool is_of_library(const std::filesystem::path& file, std::string_view folder);

// The names, without the extension, of what the library has in a folder of it, in order.
std::vector<std::string> library_names(std::string_view folder, std::string_view extension);

// The path of an entry, as in ("models", "llama-3-8b", ".yaml"). Throws an Error that gives the
// nearest names, or all of them.
std::filesystem::path library_file(std::string_view folder, std::string_view name,
                                   std::string_view extension);

// Whether a text names an entry of the library: a path has a slash or the extension, or .json,
// which YAML's reader reads as well.
bool is_library_name(std::string_view text, std::string_view extension);

// What a file is called by: its name without .yaml or .json. A config.json, and a folder with one,
// is called by the folder; in a cache of the Hugging Face hub, by the repository.
std::string label_of_file(const std::filesystem::path& path);

// What a text names: a path, from the folder of the file that
// it stands in, or else an entry of the library. Throws an Error at the field.
std::filesystem::path library_or_path(const Field& field, std::string_view folder,
                                      std::string_view extension);

// The path of a file that a text names, from the folder of the file that it stands in. Throws an
// Error at the field, which says what is `allowed`.
std::filesystem::path existing_path(const Field& field, std::string_view allowed);

// The map that a field is, or that stands in the YAML file which it names in one of those ways.
Value library_map(const Field& field, std::string_view folder, const Document& what);

// A map that a field stands for, with a `name` where it says none.
Value with_name(Value map, const Field& field, const std::string& name);

}  // namespace pipewright::config
