#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cli/commands.hpp"
#include "sim/cli/help/man_page.hpp"
#include "sim/cli/help/topics.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::cli {
namespace {

po::options_description help_options() {
  po::options_description options("options", 100);
  options.add_options()("man", "print the manual page in the format of man")("help,h",
                                                                             "print this help");
  return options;
}

std::string list_of_topics() {
  std::size_t width = 0;
  for (const Topic& topic : topics()) width = std::max(width, topic.name.size());
  std::string text = "usage: pipewright help TOPIC\n\n";
  for (const Topic& topic : topics())
    text += fmt::format("  {:<{}}  {}\n", topic.name, width, question(embedded_page(topic.path)));
  return fmt::format(
      "{}\n'pipewright help COMMAND' explains a command, 'pipewright --help' lists them.\n\n{}",
      text, describe(help_options()));
}

UsageError unknown_topic(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Topic& topic : topics()) names.push_back(topic.name);
  const std::string topic_names = fmt::format("{}", fmt::join(names, ", "));
  for (const Command& command : commands()) names.push_back(command.name);
  return UsageError(fmt::format("help: no topic is called '{}'", word))
      .suggest_name(config::nearest_name(word, names))
      .allow(topic_names);
}

}  // namespace

int help_command(const Arguments& arguments) {
  const po::variables_map flags = parse(arguments, help_options(), "topic");
  if (flags.count("man") != 0) {
    fmt::print("{}", man_page());
    return exit_ok;
  }
  const Arguments words = values(flags, "topic");
  if (words.empty() || flags.count("help") != 0) {
    fmt::print("{}", list_of_topics());
    return exit_ok;
  }
  for (const Topic& topic : topics())
    if (topic.name == words[0] && words.size() == 1) {
      fmt::print("{}", markdown_text(embedded_page(topic.path)));
      return exit_ok;
    }
  for (const Command& command : commands())
    if (command.name == words[0]) {
      Arguments rest(words.begin() + 1, words.end());
      rest.emplace_back("--help");
      return run(command, rest);
    }
  throw unknown_topic(fmt::format("{}", fmt::join(words, " ")));
}

}  // namespace pipewright::cli
