#include "sim/cli/completion/candidates.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/options.hpp"

namespace pipewright::cli {
namespace {

// Joins words that bash has split: it passes "--op=ring" as three words.
void join_at_equals(std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size();) {
    if (words[i] != "=") {
      ++i;
      continue;
    }
    const std::size_t parts = std::min<std::size_t>(2, words.size() - i);
    for (std::size_t part = 0; part < parts; ++part) words[i - 1] += words[i + part];
    const auto from = words.begin() + static_cast<std::ptrdiff_t>(i);
    words.erase(from, from + static_cast<std::ptrdiff_t>(parts));
  }
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.';
}

// Returns the option that a word names, such as "--cluster", "--cluster=dgx-a100" or "-s", or null.
const po::option_description* option_of(const Syntax& syntax, std::string_view word) {
  const std::string name(word.substr(0, word.find('=')));
  for (const auto& option : syntax.options.options())
    if (name == "--" + option->long_name() ||
        name == option->canonical_display_name(po::command_line_style::allow_dash_for_short))
      return option.get();
  return nullptr;
}

Candidates commands_of(std::span<const Command> table) {
  Candidates completions;
  for (const Command& command : table)
    completions.words.push_back({std::string(command.name), std::string(command.help)});
  return completions;
}

Candidates options_of(const Syntax& syntax) {
  Candidates completions;
  for (const auto& option : syntax.options.options())
    completions.words.push_back({"--" + option->long_name(), option->description()});
  if (option_of(syntax, "--help") == nullptr)
    completions.words.push_back({"--help", "print this help"});
  return completions;
}

// Placeholder of an option's value in the help, without the default: "NAME.." for "NAME.. (=x)".
std::string value_name(const po::option_description& option) {
  const std::string name = option.semantic()->name();
  return name.substr(0, name.find(" ("));
}

Candidates value_of(const std::string& command, const po::option_description& option,
                    std::string_view word) {
  return option.long_name() == "set" ? settings(word)
                                     : values_of(command, option.long_name(), value_name(option));
}

// Completions of the last of `words`, which follow the name of a command. There is at least one.
Candidates argument(const std::string& command, const Syntax& syntax,
                    std::span<const std::string> words) {
  const std::string& last = words.back();
  if (const std::size_t equals = last.find('=');
      last.starts_with("--") && equals != std::string::npos) {
    const po::option_description* const option = option_of(syntax, last);
    if (option == nullptr) return {};
    Candidates completions = value_of(command, *option, last.substr(equals + 1));
    for (Candidate& candidate : completions.words)
      candidate.word.insert(0, last.substr(0, equals + 1));
    return completions;
  }
  if (last == "-" || is_option(last)) return options_of(syntax);
  // The last word is a value of the option before it, if that option accepts one more value.
  for (std::size_t i = words.size() - 1; i-- > 0;) {
    if (!is_option(words[i])) continue;
    const po::option_description* const option = option_of(syntax, words[i]);
    if (option == nullptr) break;
    const std::size_t values_before =
        words.size() - 2 - i + (words[i].find('=') != std::string::npos);
    if (values_before < option->semantic()->max_tokens()) return value_of(command, *option, last);
    break;
  }
  return values_of(command, syntax.positional, "");
}

Candidates candidates_for(std::vector<std::string> words) {
  std::span<const Command> table = commands();
  std::string name;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const auto command = std::ranges::find(table, words[i], &Command::name);
    if (command == table.end()) return {};
    name += (name.empty() ? "" : " ") + words[i];
    if (command->run != nullptr)
      return argument(name, syntax_of(*command), std::span(words).subspan(i + 1));
    table = command->verbs;
  }
  Candidates completions = commands_of(table);
  if (words.back().starts_with("-")) {
    completions.words = {{"--help", "print this help"}};
    if (name.empty())
      completions.words.push_back(
          {"--version", "print the versions of the program and of SimGrid"});
  }
  return completions;
}

}  // namespace

Candidates candidates(std::vector<std::string> words) {
  join_at_equals(words);
  if (words.empty()) words.emplace_back();
  const std::string last = words.back();
  Candidates completions = candidates_for(std::move(words));
  std::erase_if(completions.words,
                [&](const Candidate& candidate) { return !candidate.word.starts_with(last); });
  return completions;
}

}  // namespace pipewright::cli
