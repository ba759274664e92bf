#include "sim/config/text/library.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/misspelt.hpp"
#include "sim/config/text/readable.hpp"

namespace pipewright::config {
namespace {

std::filesystem::path& own_folder() {
  static std::filesystem::path folder;
  return folder;
}

std::filesystem::path own_library() {
  if (!own_folder().empty()) return own_folder();
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  std::filesystem::path beside =
      (program.parent_path() / PIPEWRIGHT_LIBRARY_FROM_PROGRAM).lexically_normal();
  if (!program.empty() && std::filesystem::is_directory(beside, ignored)) return beside;
  return PIPEWRIGHT_PLATFORMS;
}

}  // namespace

void set_own_library(std::filesystem::path folder) { own_folder() = std::move(folder); }

std::vector<std::filesystem::path> library_folders() {
  std::vector<std::filesystem::path> folders;
  const char* const variable = std::getenv("PIPEWRIGHT_PLATFORMS");
  std::istringstream names(variable == nullptr ? "" : variable);
  for (std::string name; std::getline(names, name, ':');)
    if (!name.empty()) folders.emplace_back(name);
  folders.push_back(own_library());
  return folders;
}

bool is_of_library(const std::filesystem::path& file, std::string_view folder) {
  return std::ranges::any_of(library_folders(), [&](const std::filesystem::path& library) {
    return file.parent_path() == library / folder;
  });
}

std::vector<std::string> library_names(std::string_view folder, std::string_view extension) {
  std::vector<std::string> names;
  std::error_code ignored;  // a missing folder has no entries
  for (const std::filesystem::path& library : library_folders())
    for (const auto& entry : std::filesystem::directory_iterator(library / folder, ignored))
      if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

std::filesystem::path library_file(std::string_view folder, std::string_view name,
                                   std::string_view extension, const std::filesystem::path& from) {
  std::error_code ignored;
  std::filesystem::path first;
  bool is_past = false;  // after the file `from`
  for (const std::filesystem::path& library : library_folders()) {
    std::filesystem::path file = library / folder / fmt::format("{}{}", name, extension);
    if (!std::filesystem::is_regular_file(file, ignored)) continue;
    if (std::filesystem::equivalent(file, from, ignored))
      is_past = true;
    else if (is_past)
      return file;
    if (first.empty()) first = std::move(file);
  }
  if (!first.empty()) return first;
  const std::vector<std::string> names = library_names(folder, extension);
  const std::string listed = names.empty()
                                 ? fmt::format("no name, as the library has no {}", folder)
                                 : fmt::format("{}", fmt::join(names, ", "));
  Error error(fmt::format("{} is not among the {} of the library", in_quotes(name), folder));
  const std::string_view nearest =
      misspelt_name(name, std::vector<std::string_view>(names.begin(), names.end()));
  std::vector<std::string_view> longer;
  for (const std::string& longer_name : names)
    if (longer_name.starts_with(name)) longer.push_back(longer_name);
  if (longer.size() > 1)
    error.allow(fmt::format("{}", fmt::join(longer, ", ")));
  else if (nearest.empty())
    error.allow(fmt::format("{}, or the path of a file, with a slash or {}{}", listed, extension,
                            folder == "models" ? ", or a folder with a config.json" : ""));
  if (nearest.empty() && folder == "gpus")
    error.suggest(
        "make the file of another GPU from its data sheet and a similar GPU NAME with "
        "'pipewright gpu derive SHEET --like NAME'");
  throw error.suggest_name(nearest);
}

bool is_library_name(std::string_view text, std::string_view extension) {
  return text.find('/') == std::string_view::npos && !text.ends_with(extension) &&
         !text.ends_with(".json");
}

std::string label_of_file(const std::filesystem::path& path) {
  if (path.filename() != "config.json")
    return path.extension() == ".yaml" || path.extension() == ".json" ? path.stem().string()
                                                                      : path.filename().string();
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::absolute(path, ignored).parent_path();
  // .../models--meta-llama--Llama-3.1-8B/snapshots/COMMIT/config.json
  constexpr std::string_view repository = "models--";
  for (const std::filesystem::path& part : folder)
    if (const std::string name = part.string(); name.starts_with(repository))
      return name.substr(name.rfind("--") + 2);
  return folder.filename().empty() ? "config" : folder.filename().string();
}

std::filesystem::path library_or_path(const Field& field, std::string_view folder,
                                      std::string_view extension) {
  const std::string& text =
      read_text(field, fmt::format("a name in the library of {} or a path of a file", folder));
  if (is_library_name(text, extension)) try {
      return library_file(folder, text, extension, field.value.origin.source);
    } catch (const Error& error) {
      // An option of this name says what the text is.
      if (field.value.origin.source == "--" + field.name) throw error.at(field.value.origin);
      throw error.within(field.value.origin, field.name);
    }
  std::filesystem::path path =
      (std::filesystem::path(field.value.origin.folder) / text).lexically_normal();
  check_readable(field, path);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error(field.value.origin,
                fmt::format("{}: there is no file {}", field.name, in_quotes(path.string())))
        .allow(fmt::format("the path of one, from the folder of the file that names it, or a name "
                           "in the library of {}",
                           folder));
  return path;
}

std::filesystem::path existing_path(const Field& field, std::string_view allowed) {
  const std::string& text = field.value.text;
  std::filesystem::path path =
      (std::filesystem::path(field.value.origin.folder) / text).lexically_normal();
  check_readable(field, path);
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  if (is_folder || !std::filesystem::exists(path, ignored))
    throw Error(field.value.origin,
                fmt::format("{} is {}, and {} is {}", field.name, in_quotes(text),
                            in_quotes(path.string()), is_folder ? "a folder" : "no file"))
        .allow(fmt::format(
            "{}, from the folder of the scenario or, on a command line, the current one", allowed));
  return path;
}

namespace {

// Reads a YAML file. Files of the library are read for every scenario, so that the last ones are
// kept until they change on disk.
Value read_kept_yaml_file(const std::filesystem::path& path, const Document& document) {
  struct File {
    std::string path;
    std::string_view noun;  // of the document
    std::filesystem::file_time_type written;
    std::uintmax_t bytes = 0;
    Value tree;
  };
  constexpr std::size_t most_files = 32;
  thread_local std::deque<File> files;
  std::error_code time_error;
  std::error_code size_error;
  const auto written = std::filesystem::last_write_time(path, time_error);
  const std::uintmax_t bytes = std::filesystem::file_size(path, size_error);
  if (time_error || size_error) return read_yaml_file(path.string(), document);
  const auto is_of_file = [&](const File& file) {
    return file.path == path.string() && file.noun == document.noun;
  };
  auto it = std::ranges::find_if(files, is_of_file);
  if (it != files.end() && it->written == written && it->bytes == bytes) return it->tree;
  if (it != files.end()) files.erase(it);
  if (files.size() == most_files) files.pop_front();
  files.push_back(
      {path.string(), document.noun, written, bytes, read_yaml_file(path.string(), document)});
  return files.back().tree;
}

}  // namespace

Value library_map(const Field& field, std::string_view folder, const Document& document) {
  if (field.value.kind == Value::Kind::map) return field.value;
  if (field.value.kind == Value::Kind::list)
    throw wrong(field,
                fmt::format("a name in the library of {}, a path of a file, or a map", folder));
  return read_kept_yaml_file(library_or_path(field, folder, ".yaml"), document);
}

Value with_name(Value map, const Field& field, const std::string& name) {
  if (find(map, "name") == nullptr)
    map.entries.insert(map.entries.begin(),
                       {"name", field.value.origin, make_text(name, field.value.origin)});
  return map;
}

}  // namespace pipewright::config
