#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/yaml.hpp"
#include "sim/jobs/nemo/nemo.hpp"

namespace pipewright::jobs::nemo {
namespace {

constexpr config::Document nemo_config{"a configuration", "model", "model: {}", true};

bool is_path(std::string_view text) {
  return !text.empty() && text.front() != '.' && text.back() != '.' &&
         std::ranges::all_of(text, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
         });
}

void flatten_named(const config::Value& value, const std::string& path, std::vector<Named>& named) {
  if (value.kind == config::Value::Kind::map) {
    for (const config::Entry& entry : value.entries)
      flatten_named(entry.value, path.empty() ? entry.key : path + "." + entry.key, named);
    return;
  }
  Named entry{.path = path, .origin = value.origin};
  if (value.kind == config::Value::Kind::text) entry.values = {value.text};
  for (const config::Value& item : value.items)
    if (item.kind == config::Value::Kind::text) entry.values.push_back(item.text);
  const std::size_t dot = path.rfind('.');
  entry.written = fmt::format("{}: {}", dot == std::string::npos ? path : path.substr(dot + 1),
                              fmt::join(entry.values, ", "));
  named.push_back(std::move(entry));
}

// Resolves OmegaConf's references ${..}: keys of the file, ${multiply:4,..},
// ${oc.env:NAME,default}.
class Resolver {
 public:
  Resolver(const std::vector<Named>& entries, const JobWords& words) {
    for (const Named& entry : entries)
      if (entry.values.size() == 1) values_[entry.path] = entry.values.front();
    for (const auto& [name, value] : words.variables) variables_[name] = value;
  }

  std::string resolve(const std::string& text, const std::string& path, int depth = 0) const {
    constexpr int deepest = 16;
    const std::size_t begin = text.rfind("${");
    if (begin == std::string::npos || depth > deepest) return text;
    const std::size_t end = text.find('}', begin);
    if (end == std::string::npos) return text;
    const std::string inside = text.substr(begin + 2, end - begin - 2);
    const std::optional<std::string> value = value_of(inside, path, depth);
    if (!value) return text;
    return resolve(text.substr(0, begin) + *value + text.substr(end + 1), path, depth + 1);
  }

 private:
  std::optional<std::string> value_of(const std::string& inside, const std::string& path,
                                      int depth) const {
    const std::size_t colon = inside.find(':');
    if (colon == std::string::npos) return referred(inside, path, depth);
    const std::string function = inside.substr(0, colon);
    const std::string rest = inside.substr(colon + 1);
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string first = rest.substr(0, comma);
    std::string second = comma < rest.size() ? rest.substr(comma + 1) : "";
    std::erase(first, ' ');
    std::erase(second, ' ');
    if (function == "oc.decode") return rest;
    if (function == "oc.env") {
      const auto it = variables_.find(first);
      if (it != variables_.end()) return it->second;
      return second.empty() ? std::nullopt : std::optional(second);
    }
    if (function != "multiply" && function != "floor_div" && function != "divide")
      return std::nullopt;
    Setting a{.values = {first}, .written = inside};
    Setting b{.values = {second}, .written = inside};
    const std::string digits = "0123456789";
    if (first.empty() || second.empty() || first.size() > 9 || second.size() > 9 ||
        first.find_first_not_of(digits) != std::string::npos ||
        second.find_first_not_of(digits) != std::string::npos)
      return std::nullopt;
    const std::uint64_t x = std::stoull(first);
    const std::uint64_t y = std::stoull(second);
    if (function == "multiply") return fmt::format("{}", x * y);
    return y == 0 ? std::nullopt : std::optional(fmt::format("{}", x / y));
  }

  std::optional<std::string> referred(const std::string& name, const std::string& path, int) const {
    std::string key = name;
    if (name.starts_with('.')) {
      const std::size_t dot = path.rfind('.');
      key = (dot == std::string::npos ? "" : path.substr(0, dot)) + name;
    }
    if (key.starts_with("training.")) key = key.substr(9);
    const auto it = values_.find(key);
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }

  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> variables_;
};

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

// Values of a simple Python expression: the argument of a call ("bf16" for f("bf16")), or the words
// of a list.
std::vector<std::string> python_values(std::string text) {
  const std::size_t hash = text.find("  #");
  text = trimmed(text.substr(0, hash));
  while (text.ends_with(',')) text.pop_back();
  if (const std::size_t open = text.find('(');
      open != std::string::npos && text.ends_with(')') && open > 0)
    text = text.substr(open + 1, text.size() - open - 2);
  std::vector<std::string> values;
  const bool list = text.starts_with('[') && text.ends_with(']');
  if (list) text = text.substr(1, text.size() - 2);
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = list ? std::min(text.find(',', at), text.size()) : text.size();
    std::string part = trimmed(std::string_view(text).substr(at, end - at));
    std::erase_if(part, [](char c) { return c == '"' || c == '\''; });
    if (!part.empty()) values.push_back(part);
    at = end + 1;
  }
  return values;
}

// Reads the keyword arguments of a call, such as CommOverlapConfig(tp_comm_overlap=True), as
// entries.
void read_keywords(const std::string& text, const Named& from, std::vector<Named>& named) {
  for (const std::string_view name :
       {"tp_comm_overlap", "overlap_param_gather", "overlap_grad_reduce", "use_megatron_fsdp"}) {
    const std::size_t at = text.find(fmt::format("{}=", name));
    if (at == std::string::npos || (at > 0 && text[at - 1] == '_')) continue;
    const std::string rest = text.substr(at + name.size() + 1);
    named.push_back({.path = std::string(name),
                     .values = {rest.substr(0, rest.find_first_of(",) "))},
                     .written = from.written,
                     .origin = from.origin});
  }
}

struct Line {
  std::string text;
  int number;
};

std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> lines;
  std::size_t at = 0;
  int number = 1;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back({text.substr(at, end - at), number++});
    at = end + 1;
  }
  return lines;
}

// Lines of a function's body. Those of another function of the file that it calls precede the call.
std::vector<Line> lines_of_function(const std::vector<Line>& lines,
                                    const std::vector<std::string>& names, const std::string& name,
                                    int depth) {
  constexpr int deepest = 4;
  std::vector<Line> chosen;
  bool inside = false;
  for (const Line& line : lines) {
    const bool begins = line.text.starts_with("def ");
    if (begins) inside = line.text.substr(4, line.text.find('(') - 4) == name;
    const bool indented = line.text.empty() || line.text.front() == ' ' ||
                          line.text.front() == '\t' || line.text.front() == ')';
    if (!begins && !indented && line.text.front() != '#') inside = false;
    if (!inside || begins) continue;
    for (const std::string& callee : names)
      if (depth < deepest && callee != name &&
          line.text.find(fmt::format("= {}(", callee)) != std::string::npos)
        for (Line& base : lines_of_function(lines, names, callee, depth + 1))
          chosen.push_back(std::move(base));
    chosen.push_back(line);
  }
  return chosen;
}

// Lines of the recipe function that RECIPE names, or of the only one; all lines if the file has no
// function.
std::vector<Line> function_lines(const Source& source, const JobWords& words, std::string& name) {
  std::vector<Line> lines = lines_of(source.text);
  for (const auto& [variable, value] : words.variables)
    if (variable == "RECIPE") name = value;
  std::vector<std::string> names;
  for (const Line& line : lines)
    if (line.text.starts_with("def ") && !line.text.starts_with("def _"))
      names.push_back(line.text.substr(4, line.text.find('(') - 4));
  if (names.empty()) return lines;
  if (name.empty() && names.size() == 1) name = names.front();
  if (std::ranges::find(names, name) == names.end())
    throw config::Error(fmt::format("{}: the file has {} recipes", source.name, names.size()))
        .suggest(fmt::format("choose one by RECIPE=NAME: {}", fmt::join(names, ", ")));
  return lines_of_function(lines, names, name, 0);
}

// Sets the number of GPUs if the recipe's name contains it, as in "64gpu".
void gpus_of_name(const std::string& name, const Source& source, Request& request) {
  const std::size_t at = name.find("gpu");
  if (at == std::string::npos) return;
  std::size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1])) != 0) --begin;
  if (begin == at || at - begin > 7) return;
  request.gpus = std::stoull(name.substr(begin, at - begin));
  request.gpus_from = name;
  request.gpus_origin = {.source = source.name};
}

}  // namespace

std::vector<Named> read_yaml(const Source& source, const JobWords& words) {
  std::vector<Named> named;
  flatten_named(config::read_yaml_text(source.text, source.name, nemo_config), "", named);
  const Resolver resolver(named, words);
  std::vector<Named> resolved = named;
  for (Named& entry : resolved)
    for (std::string& value : entry.values) value = resolver.resolve(value, entry.path);
  // Configurations of NeMo's launcher have the same keys one level deeper, below `training`.
  for (Named& entry : resolved)
    if (entry.path.starts_with("training.")) entry.path = entry.path.substr(9);
  return resolved;
}

std::vector<Named> read_python(const Source& source, const JobWords& words, Request& request) {
  std::string recipe;
  const std::vector<Line> lines = function_lines(source, words, recipe);
  std::vector<Named> named;
  for (const Line& line : lines) {
    const std::string text = trimmed(line.text);
    const std::size_t layout = text.find("pipeline_model_parallel_layout(");
    const Named from{.written = text, .origin = {source.name, line.number, 1}};
    if (layout != std::string::npos && text.find('"') != std::string::npos) {
      const std::size_t quote = text.find('"');
      Named entry = from;
      entry.path = "model.pipeline_model_parallel_layout";
      entry.values = {text.substr(quote + 1, text.find('"', quote + 1) - quote - 1)};
      named.push_back(std::move(entry));
      continue;
    }
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || text.starts_with('#') ||
        text.substr(equals).starts_with("=="))
      continue;
    std::string path = trimmed(std::string_view(text).substr(0, equals));
    const bool dotted = path.find('.') != std::string::npos;
    if (!is_path(path)) continue;
    // The variable's name (cfg in cfg.model.x) has no meaning.
    if (dotted) path = path.substr(path.find('.') + 1);
    Named entry = from;
    entry.path = path;
    entry.values = python_values(text.substr(equals + 1));
    // Copies of another key (= cfg.x) are skipped, since that key is read where it is set.
    if (entry.values.size() == 1 && entry.values.front().starts_with("cfg.")) continue;
    if (!dotted && entry.values.size() != 1) continue;
    if (path == "comm_overlap") {
      read_keywords(text, from, named);
      continue;
    }
    if (!dotted && path == "cfg") continue;
    named.push_back(std::move(entry));
  }
  if (!recipe.empty()) request.name = recipe;
  gpus_of_name(recipe.empty() ? source.name : recipe, source, request);
  return named;
}

std::vector<Named> read_overrides(const Source& source, const JobWords& words, Request& request) {
  std::vector<Word> words_of_commands;
  const Script script = run_scripts(std::span(&source, 1), words);
  note_unfollowed(script, request);
  for (const auto& command : script.commands)
    for (const Word& word : command) {
      // A file that consists of overrides has one word per line.
      for (Word& part :
           word.text.find(' ') == std::string::npos ? std::vector{word} : split_words(word))
        words_of_commands.push_back(std::move(part));
    }
  count_gpus(words_of_commands, request);
  std::vector<Named> named;
  for (const Word& word : words_of_commands) {
    std::string text = word.text;
    while (text.starts_with('+') || text.starts_with('~')) text.erase(0, 1);
    const std::size_t equals = text.find('=');
    const bool dotted = text.find('.') < equals || text.starts_with("mixed_precision=");
    if (equals == std::string::npos || !dotted) continue;
    const std::string path = text.substr(0, equals);
    if (!is_path(path)) continue;
    named.push_back({.path = path,
                     .values = python_values(text.substr(equals + 1)),
                     .written = text,
                     .origin = word.origin});
  }
  return named;
}

}  // namespace pipewright::jobs::nemo
