#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/tools.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t max_recorded_words = 200'000;

}  // namespace

void Evaluator::run_simple(const Node& node) {
  std::vector<RawWord> raw;
  for (const Part& part : node.parts)
    if (!part.assignment || !raw.empty()) raw.push_back(part.word);
  if (raw.empty()) {
    shell_.status = true;
    for (const Part& part : node.parts) assign(*part.assignment);
    return;
  }
  static constexpr std::array<std::string_view, 5> declarers{"export", "declare", "local",
                                                             "readonly", "typeset"};
  if (std::ranges::find(declarers, raw.front().raw) != declarers.end())
    return declare(node, raw.front().raw);
  Words words = expand_words(raw, shell_);
  std::vector<std::pair<std::string, std::optional<Variable>>> old;
  assign_for(node, old);
  const std::size_t before = shell_.script.commands.size();
  dispatch(node, words);
  if (shell_.script.commands.size() == before + 1)
    for (const auto& [name, variable] : old)
      if (const Variable* const own = shell_.find(name); own != nullptr && !own->words.empty())
        shell_.script.environments[before].emplace_back(name, own->words.front());
  for (auto& [name, variable] : old) {
    if (variable)
      shell_.script.variables[name] = std::move(*variable);
    else
      shell_.script.variables.erase(name);
  }
}

void Evaluator::dispatch(const Node& node, Words& words) {
  // A program that is an unset variable is nothing: $LAUNCHER python train.py.
  while (!words.empty() && words.front().may_vanish) {
    if (words.size() > 1 && shell_.script.written.contains(*unknown_in(words.front().text))) {
      words.erase(words.begin());
      continue;
    }
    break;
  }
  shell_.line = node.line;
  if (words.empty()) {
    shell_.status = true;
    return;
  }
  while (words.size() > 1 && (plain_text(words[0]) == "command" ||
                              plain_text(words[0]) == "builtin" || plain_text(words[0]) == "exec"))
    words.erase(words.begin());
  const std::string name = plain_text(words.front());
  Texts texts;
  for (const Word& word : words)
    if (!word.may_vanish) texts.push_back(plain_text(word));
  if (texts.empty()) texts.push_back(name);
  if (run_function(words)) return;
  if (run_builtin(name, node, words, texts)) return;
  std::optional<std::string> input =
      input_ == nullptr ? std::nullopt : std::optional(input_->text.substr(input_->at));
  // cat reads a file that the script has written.
  if (name == "cat" && texts.size() == 2)
    if (const auto path = shell_.path_of(texts[1]))
      if (const auto it = shell_.files.find(*path); it != shell_.files.end()) {
        input = it->second;
        texts.pop_back();
      }
  if (const auto output = run_tool(texts, input)) {
    write(output->text);
    shell_.status = output->success;
    return;
  }
  if (run_inner_shell(words) || run_inner_script(words) || run_input(words)) return;
  record(words);
  if (output_ != nullptr) {
    foreign_ = true;
    write(unknown(fmt::format("$({})", fmt::join(texts, " "))));
  }
  shell_.status = std::nullopt;
}

void Evaluator::record(const Words& words) {
  std::vector<Word> command;
  for (const Words* part : {const_cast<const Words*>(&prefix_), &words})
    for (const Word& word : *part)
      command.push_back({without_marks(word.text), word.origin, word.may_vanish});
  shell_.charge(command.size());
  if (command.size() < max_recorded_words) shell_.script.commands.push_back(std::move(command));
}

bool Evaluator::run_function(const Words& words) {
  const auto it = shell_.script.functions.find(plain_text(words.front()));
  if (it == shell_.script.functions.end()) return false;
  const NodePtr body = it->second;
  Words arguments;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!words[i].may_vanish) arguments.push_back(words[i]);
  std::swap(shell_.arguments, arguments);
  shell_.enter();
  run(*body);
  if (flow_ == Flow::returns) flow_ = Flow::normal;
  shell_.leave();
  std::swap(shell_.arguments, arguments);
  return true;
}

}  // namespace pipewright::jobs
