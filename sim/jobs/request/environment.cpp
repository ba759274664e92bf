#include "sim/jobs/request/environment.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {
namespace {

bool is_variable_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

// Text of a reference, without ${ and }. None if it refers to no variable.
std::optional<std::string> value_of_reference(std::string_view inside, const JobWords& words) {
  const std::size_t colon = inside.find(':');
  const std::string_view name = inside.substr(0, colon);
  if (!is_variable_name(name)) return std::nullopt;
  for (const auto& [variable, value] : words.variables)
    if (variable == name) return value;
  if (colon == std::string_view::npos) return unknown_begin + std::string(name) + unknown_end;
  std::string_view otherwise = inside.substr(colon + 1);
  if (otherwise.starts_with('-')) otherwise.remove_prefix(1);
  return std::string(otherwise);
}

std::string substituted(std::string_view text, const JobWords& words) {
  std::string whole;
  while (!text.empty()) {
    const std::size_t begin = std::min(text.find("${"), text.size());
    const std::size_t end = text.find('}', begin);
    if (end == std::string_view::npos) break;
    whole += text.substr(0, begin);
    const std::string_view reference = text.substr(begin, end + 1 - begin);
    whole += value_of_reference(reference.substr(2, reference.size() - 3), words)
                 .value_or(std::string(reference));
    text.remove_prefix(end + 1);
  }
  return whole.append(text);
}

void substitute_variables(config::Value& tree, const JobWords& words) {
  if (tree.kind == config::Value::Kind::text) tree.text = substituted(tree.text, words);
  for (config::Value& item : tree.items) substitute_variables(item, words);
  for (config::Entry& entry : tree.entries) substitute_variables(entry.value, words);
}

}  // namespace

config::Value read_yaml(const Source& source, const config::Document& document,
                        const JobWords& words) {
  config::Value tree = config::read_yaml_text(source.text, source.name, document);
  substitute_variables(tree, words);
  return tree;
}

}  // namespace pipewright::jobs
