#include "sim/config/model_tree.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "sim/config/huggingface/huggingface.hpp"
#include "sim/config/text/library.hpp"
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

bool is_path(const Field& field) {
  return field.value.kind == Value::Kind::text && !field.value.text.empty() &&
         !is_library_name(field.value.text, ".yaml");
}

}  // namespace

Value model_tree(const Field& field) {
  if (is_config(field.value)) return huggingface::model_map(field.value);
  if (!is_path(field)) return library_map(field, "models", model_document);
  const std::filesystem::path file = file_of(field);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored))
    throw Error(
        field.value.origin,
        fmt::format("{} is {}, and {} is {}", field.name, in_quotes(field.value.text),
                    in_quotes(file.string()),
                    std::filesystem::is_directory(file, ignored) ? "a folder without config.json"
                                                                 : "no file"))
        .allow(
            "the path of a model file, of a config.json or of a folder with one, relative to the "
            "file that names it, or a name in the library of models");
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
