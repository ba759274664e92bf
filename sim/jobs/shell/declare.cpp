#include <algorithm>

#include <fmt/format.h>

#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/parser.hpp"

namespace pipewright::jobs {

void Evaluator::apply_options(const std::string& name, const std::string& options, bool has_value) {
  Variable& variable = shell_.script.variables[name];
  if (options.find('x') != std::string::npos) variable.exported = true;
  if (options.find('A') != std::string::npos && !variable.associative) {
    variable.associative = true;
    variable.array = true;
    if (!has_value) variable.words.clear();
  }
  if (options.find('a') != std::string::npos) variable.array = true;
}

void Evaluator::declare_word(const std::string& word, const std::string& options) {
  if (const auto assignment = assignment_in(word, shell_.line)) {
    if (options.find('l') != std::string::npos) shell_.make_local(assignment->name);
    shell_.assign(assignment->name, {assignment->value.raw, shell_.here()});
    return apply_options(assignment->name, options, true);
  }
  if (!is_variable_name(word)) return;
  const bool known = shell_.find(word) != nullptr;
  if (options.find('l') != std::string::npos) shell_.make_local(word);
  if (!known && options == "x") return;  // export of a variable that is not set
  apply_options(word, options, false);
}

void Evaluator::declare(const Node& node, const std::string& name) {
  std::string options = name == "export" ? "x" : "";
  const bool global =
      std::ranges::any_of(node.parts, [](const Part& part) { return part.word.raw == "-g"; });
  if (shell_.in_function() && name != "export" && name != "readonly" && !global) options += 'l';
  shell_.status = true;
  bool first = true;
  for (const Part& part : node.parts) {
    const std::string& raw = part.word.raw;
    if (first && !part.assignment) {
      first = false;  // the name of the command
    } else if (part.assignment) {
      // Flags of -A hold before the value is read.
      if (options.find('l') != std::string::npos) shell_.make_local(part.assignment->name);
      if (options.find('A') != std::string::npos) apply_options(part.assignment->name, "A", true);
      Assignment assignment = *part.assignment;
      if (options.find('i') != std::string::npos && !assignment.is_array)
        if (const auto value = evaluate_number(assignment.value, shell_))
          assignment.value.raw = fmt::format("{}", *value);
      assign(assignment);
      apply_options(assignment.name, options, true);
    } else if (raw.starts_with('-') || raw.starts_with('+')) {
      for (const char c : raw.substr(1))
        if (std::string_view("aAxi").find(c) != std::string_view::npos) options += c;
      if (raw.find('n') != std::string::npos && name != "export")
        shell_.not_followed(fmt::format("{} {}", name, raw),
                            "references to variables are not followed");
    } else {
      for (const Word& word : expand_word(part.word, shell_))
        declare_word(without_marks(word.text), options);
    }
  }
}

}  // namespace pipewright::jobs
