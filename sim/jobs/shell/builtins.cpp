#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/test.hpp"

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
