#include "sim/config/model_tree.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "sim/config/huggingface/huggingface.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/misspelt.hpp"
#include "sim/config/text/readable.hpp"

namespace pipewright::config {
namespace {

constexpr Document model_document{"a model", "layers, hidden, heads, vocabulary and sequence",
                                  "layers: 32"};

// Returns the model file that a path means: the file itself, or for a folder its config.json.
std::filesystem::path file_of(const Field& field) {
  const std::filesystem::path path =
      (std::filesystem::path(field.value.origin.folder) / field.value.text).lexically_normal();
  check_readable(field, path);
  std::error_code ignored;
  std::filesystem::path inside = path / "config.json";
  return std::filesystem::is_regular_file(inside, ignored) ? inside : path;
}

// Returns whether a text is the path of a model: no name of the library, or a folder with a
// config.json whose name the library does not have.
bool is_path(const Field& field) {
  const std::string& text = field.value.text;
  if (field.value.kind != Value::Kind::text || text.empty()) return false;
  if (!is_library_name(text, ".yaml")) return true;
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(field.value.origin.folder) / text;
  if (!std::filesystem::is_regular_file(folder / "config.json", ignored)) return false;
  const std::vector<std::string> names = library_names("models", ".yaml");
  return !std::ranges::binary_search(names, text);
}

// Returns the name in the library that a missing file probably means: Qwen/Qwen3-8B for qwen3-8b.
std::string name_meant(const std::filesystem::path& file) {
  const std::vector<std::string> names = library_names("models", ".yaml");
  return std::string(misspelt_name(file.filename().string(),
                                   std::vector<std::string_view>(names.begin(), names.end())));
}

}  // namespace

Value model_tree(const Field& field) {
  if (is_config(field.value)) return huggingface::model_map(field.value);
  if (!is_path(field)) return library_map(field, "models", model_document);
  const std::filesystem::path file = file_of(field);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    throw Error(field.value.origin,
                std::filesystem::is_directory(file, ignored)
                    ? fmt::format("{} is a folder without config.json", in_quotes(file.string()))
                    : fmt::format("there is no file {}", in_quotes(file.string())),
                field.name)
        .allow(
            "the path of a model file, of a config.json or of a folder with one, relative to the "
            "file that names it, or a name in the library of models")
        .suggest_name(name_meant(file));
  Document document = model_document;
  document.is_foreign = file.extension() == ".json";  // config.json contains nulls
  Value map = read_yaml_file(file.string(), document);
  return huggingface::is_config(map) ? huggingface::model_map(map) : map;
}

std::string model_label(const Field& field) {
  return is_path(field) ? label_of_file(file_of(field)) : field.value.text;
}

Value named_model_tree(const Field& field) {
  const std::string label = model_label(field);
  return label.empty() ? model_tree(field) : with_name(model_tree(field), field, label);
}

bool is_config(const Value& model) { return huggingface::is_config(model); }

}  // namespace pipewright::config
