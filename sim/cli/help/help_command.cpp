#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/help/topics.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::cli {
namespace {

std::string list_of_topics() {
  std::size_t width = 0;
  for (const Topic& topic : topics()) width = std::max(width, topic.name.size());
  std::string text = "usage: pipewright help TOPIC\n\n";
  for (const Topic& topic : topics())
    text += fmt::format("  {:<{}}  {}\n", topic.name, width, question(embedded_page(topic.path)));
  return text + "\n'pipewright help COMMAND' explains a command, 'pipewright --help' lists them.\n";
}

std::string unknown(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Topic& topic : topics()) names.push_back(topic.name);
  const std::string all = fmt::format("{}", fmt::join(names, ", "));
  for (const Command& command : commands()) names.push_back(command.name);
  return fmt::format("help: no topic is called '{}'{}topics: {}", word,
                     config::did_you_mean(word, names), all);
}

}  // namespace

int help_command(const Arguments& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    fmt::print("{}", list_of_topics());
    return exit_ok;
  }
  for (const Topic& topic : topics())
    if (topic.name == arguments[0] && arguments.size() == 1) {
      fmt::print("{}", markdown_text(embedded_page(topic.path)));
      return exit_ok;
    }
  for (const Command& command : commands())
    if (command.name == arguments[0]) {
      Arguments words(arguments.begin() + 1, arguments.end());
      words.emplace_back("--help");
      return run(command, words);
    }
  throw UsageError(unknown(fmt::format("{}", fmt::join(arguments, " "))));
}

}  // namespace pipewright::cli
