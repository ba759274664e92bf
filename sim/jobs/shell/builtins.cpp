#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/parser.hpp"
#include "sim/jobs/shell/test.hpp"
#include "sim/jobs/shell/tools.hpp"

namespace pipewright::jobs {
namespace {

int number_of(const std::vector<std::string>& texts, int otherwise) {
  return texts.size() > 1 ? base::parse_number<int>(texts[1]).value_or(otherwise) : otherwise;
}

}  // namespace

bool Evaluator::run_control(const std::string& name, const Texts& texts) {
  if (name == "break" || name == "continue") {
    flow_ = name == "break" ? Flow::breaks : Flow::continues;
    levels_ = std::max(number_of(texts, 1), 1);
    return true;
  }
  if (name == "return") {
    if (texts.size() > 1) shell_.status = number_of(texts, 0) == 0;
    flow_ = Flow::returns;
    return true;
  }
  if (name == "exit") {
    if (inner_ == 0 && !shell_.script.ended_at) shell_.script.ended_at = shell_.here();
    flow_ = Flow::exits;
    return true;
  }
  return false;
}

bool Evaluator::run_builtin(const std::string& name, const Node& node, const Words& words,
                            const Texts& texts) {
  if (run_control(name, texts)) return true;
  if (name == "[" || name == "test") {
    Texts operands(texts.begin() + 1, texts.end());
    if (name == "[" && !operands.empty() && operands.back() == "]") operands.pop_back();
    shell_.status = holds(operands, shell_);
    return true;
  }
  if (name == ":" || name == "true" || name == "false") {
    shell_.status = name != "false";
    return true;
  }
  if (name == "source" || name == ".") {
    source(words);
    return true;
  }
  if (name == "eval") {
    std::string text;
    for (std::size_t i = 1; i < words.size(); ++i)
      text += (i > 1 ? " " : "") + line_mark(words[i].origin.line) + words[i].text;
    run_text(text, node.line);
    return true;
  }
  shell_.status = true;
  if (name == "let") {
    std::optional<std::int64_t> value = 0;
    for (std::size_t i = 1; i < texts.size(); ++i)
      value = evaluate_number({texts[i], node.line}, shell_);
    shell_.status = value ? std::optional(*value != 0) : std::nullopt;
  } else if (name == "unset") {
    for (std::size_t i = 1; i < texts.size(); ++i) {
      shell_.unset(texts[i]);
      if (i > 1 && texts[1] == "-f") shell_.script.functions.erase(texts[i]);
    }
  } else if (name == "shift") {
    const auto count = static_cast<std::size_t>(std::max(number_of(texts, 1), 0));
    shell_.status = count <= shell_.arguments.size();
    if (*shell_.status)
      shell_.arguments.erase(shell_.arguments.begin(),
                             shell_.arguments.begin() + static_cast<std::ptrdiff_t>(count));
  } else if (name == "set") {
    set_arguments(words);
  } else if (name == "read") {
    read_line(texts);
  } else if (name == "mapfile" || name == "readarray") {
    map_file(texts);
  } else if (name == "printf" && texts.size() > 2 && texts[1] == "-v") {
    print_formatted(words, texts);
  } else if (name == "getopts") {
    get_option(texts);
  } else if (name == "cd" || name == "pushd") {
    change_folder(texts);
  } else if (name == "popd") {
    shell_.folder.reset();
  } else if (name == "pwd") {
    if (!shell_.folder)
      write(unknown("PWD") + "\n");
    else
      write(unknown("$(pwd)") + (shell_.folder->empty() ? "\n" : "/" + *shell_.folder + "\n"));
  } else if (name == "realpath" || name == "readlink") {
    const std::string& path = texts.back();
    if (texts.size() < 2 || unknown_in(path) || path.starts_with('/')) return false;
    write(fmt::format("{}/{}\n", unknown("$(pwd)"), path));
  } else if (name == "wait" || name == "trap" || name == "shopt" || name == "ulimit") {
    return true;
  } else {
    return false;
  }
  return true;
}

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
        shell_.not_followed(
            fmt::format("{} {}: references to variables are not followed", name, raw));
    } else {
      for (const Word& word : expand_word(part.word, shell_))
        declare_word(without_marks(word.text), options);
    }
  }
}

std::optional<std::string> Evaluator::next_line() {
  if (input_ == nullptr || input_->at >= input_->text.size()) return std::nullopt;
  const std::size_t end = std::min(input_->text.find('\n', input_->at), input_->text.size());
  std::string line = input_->text.substr(input_->at, end - input_->at);
  input_->at = end + 1;
  return line;
}

void Evaluator::read_line(const Texts& texts) {
  std::vector<std::string> names;
  bool array = false;
  bool whole = false;  // -d '': up to the end
  for (std::size_t i = 1; i < texts.size(); ++i) {
    if (texts[i].starts_with('-')) {
      array = array || texts[i].find('a') != std::string::npos;
      whole = whole || texts[i] == "-d";
      if (texts[i] == "-p" || texts[i] == "-d" || texts[i] == "-t" || texts[i] == "-n" ||
          texts[i] == "-rp")
        ++i;
    } else {
      names.push_back(texts[i]);
    }
  }
  if (names.empty()) names.emplace_back("REPLY");
  std::optional<std::string> line = next_line();
  if (whole && line)
    for (std::optional<std::string> next = next_line(); next; next = next_line())
      *line += "\n" + *next;
  const bool known = !line || !unknown_in(*line);
  shell_.status =
      input_ == nullptr || !known ? std::nullopt : std::optional(line.has_value() && !whole);
  if (input_ == nullptr) {
    // A person at the terminal answers.
    for (const std::string& name : names) shell_.assign(name, {unknown("$(read)"), shell_.here()});
    return;
  }
  const std::string ifs = separators(shell_);
  std::vector<Word> words;
  std::string_view rest = line ? std::string_view(*line) : std::string_view();
  const auto skip = [&](bool blanks) {
    while (!rest.empty() && ifs.find(rest.front()) != std::string::npos &&
           (!blanks || rest.front() == ' ' || rest.front() == '\t' || rest.front() == '\n'))
      rest.remove_prefix(1);
  };
  skip(true);
  while (!rest.empty()) {
    const bool last = !array && words.size() + 1 == names.size();
    const std::size_t end = last ? rest.size() : std::min(rest.find_first_of(ifs), rest.size());
    std::string_view part = rest.substr(0, end);
    while (last && !part.empty() && ifs.find(part.back()) != std::string::npos)
      part.remove_suffix(1);
    words.push_back({std::string(part), shell_.here()});
    rest.remove_prefix(end);
    skip(true);
    if (!rest.empty() && ifs.find(rest.front()) != std::string::npos) rest.remove_prefix(1);
    skip(true);
  }
  if (array) return shell_.assign_array(names.front(), std::move(words));
  for (std::size_t i = 0; i < names.size(); ++i)
    shell_.assign(names[i], i < words.size() ? words[i] : Word{"", shell_.here()});
}

void Evaluator::map_file(const Texts& texts) {
  std::string name = "MAPFILE";
  for (std::size_t i = 1; i < texts.size(); ++i) {
    if (texts[i] == "-d" || texts[i] == "-n" || texts[i] == "-s") {
      ++i;
      shell_.not_followed(fmt::format("{} {} is not followed", texts[0], texts[i - 1]));
    } else if (!texts[i].starts_with('-')) {
      name = texts[i];
    }
  }
  std::vector<Word> words;
  for (auto line = next_line(); line; line = next_line()) words.push_back({*line, shell_.here()});
  if (input_ == nullptr) words = {{unknown("$(mapfile)"), shell_.here()}};
  shell_.assign_array(name, std::move(words));
}

void Evaluator::print_formatted(const Words& words, const Texts& texts) {
  const auto text = formatted({texts.begin() + 3, texts.end()});
  const auto assignment = assignment_in(texts[2] + "=", words.front().origin.line);
  if (!assignment) return;
  Word value{text ? *text : unknown(fmt::format("$(printf {})", readable(texts[3]))),
             shell_.here()};
  if (!assignment->index) return shell_.assign(assignment->name, std::move(value));
  if (const auto key = expand_key(assignment->name, {*assignment->index, shell_.line}, shell_))
    shell_.assign_element(assignment->name, *key, std::move(value));
  else
    note_key(assignment->name);
}

void Evaluator::get_option(const Texts& texts) {
  if (texts.size() < 3) return;
  Texts arguments(texts.begin() + 3, texts.end());
  if (texts.size() == 3)
    for (const Word& word : shell_.arguments) arguments.push_back(without_marks(word.text));
  const Variable* const optind = shell_.find("OPTIND");
  std::size_t index = 1;
  if (optind != nullptr && !optind->words.empty())
    index = base::parse_number<std::size_t>(optind->words.front().text).value_or(1);
  const auto set = [&](const std::string& name, const std::string& value) {
    shell_.assign(name, {value, shell_.here()});
  };
  const bool over = index > arguments.size() || arguments[index - 1].size() < 2 ||
                    !arguments[index - 1].starts_with('-');
  const bool ends = !over && arguments[index - 1] == "--";
  if (over || ends) {
    set("OPTIND", fmt::format("{}", index + (ends ? 1 : 0)));
    set(texts[2], "?");
    shell_.status = false;
    return;
  }
  const std::string& argument = arguments[index - 1];
  if (getopts_at_ == 0 || getopts_at_ >= argument.size()) getopts_at_ = 1;
  const char option = argument[getopts_at_++];
  const std::size_t at = texts[1].find(option);
  const bool takes = at != std::string::npos && at + 1 < texts[1].size() && texts[1][at + 1] == ':';
  bool ended = getopts_at_ >= argument.size();
  if (takes) {
    std::string value = argument.substr(std::min(getopts_at_, argument.size()));
    if (value.empty() && index < arguments.size()) value = arguments[index++];
    set("OPTARG", value);
    ended = true;
  }
  if (ended) {
    ++index;
    getopts_at_ = 0;
  }
  set("OPTIND", fmt::format("{}", index));
  set(texts[2], at == std::string::npos ? "?" : std::string(1, option));
}

void Evaluator::set_arguments(const Words& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string text = without_marks(words[i].text);
    if (text == "-a" || text == "+a") shell_.exports_all = text == "-a";
    const bool option = text.size() > 1 && (text[0] == '-' || text[0] == '+') && text != "--";
    if (option && text.find('o') != std::string::npos) {  // its name follows: set -euo pipefail
      if (i + 1 < words.size() && words[i + 1].text == "allexport")
        shell_.exports_all = text[0] == '-';
      ++i;
      continue;
    }
    if (text == "--" || !(text.starts_with('-') || text.starts_with('+'))) {
      Words arguments(words.begin() + static_cast<std::ptrdiff_t>(i + (text == "--" ? 1 : 0)),
                      words.end());
      std::erase_if(arguments, [](const Word& word) { return word.may_vanish; });
      for (Word& word : arguments) word.text = without_marks(word.text);
      shell_.arguments = std::move(arguments);
      return;
    }
    if (text.size() > 2 && text.find('a') != std::string::npos) shell_.exports_all = text[0] == '-';
  }
}

void Evaluator::change_folder(const Texts& texts) {
  const std::string here = unknown("$(pwd)");
  std::string target = texts.size() > 1 ? texts[1] : "";
  if (target.starts_with(here)) {
    target.erase(0, here.size());
    while (target.starts_with('/')) target.erase(0, 1);
    shell_.folder = "";
  }
  if (unknown_in(target) || target.starts_with('/') || target == "-" ||
      (target.empty() && texts.size() < 2)) {
    shell_.folder.reset();
    return;
  }
  if (!shell_.folder) return;
  const std::string folder =
      (std::filesystem::path(*shell_.folder) / target).lexically_normal().string();
  shell_.folder = folder == "." || folder == "./" ? "" : folder;
}

}  // namespace pipewright::jobs
