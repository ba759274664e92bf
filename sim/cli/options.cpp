#include "sim/cli/options.hpp"

#include <cctype>
#include <sstream>

namespace pipewright::cli {
namespace {

bool is_negative_number(const std::string& word) {
  return word.size() > 1 && word[0] == '-' &&
         (std::isdigit(static_cast<unsigned char>(word[1])) != 0 || word[1] == '.');
}

// Without an option's name a word is a value of the option before it.
std::vector<po::option> take_negative_numbers(std::vector<std::string>& words) {
  std::vector<po::option> taken;
  if (!words.empty() && is_negative_number(words.front())) {
    taken.emplace_back();
    taken.back().value.push_back(words.front());
    taken.back().original_tokens.push_back(words.front());
    words.erase(words.begin());
  }
  return taken;
}

}  // namespace

po::variables_map parse(const Arguments& arguments, const po::options_description& options,
                        const std::string& positional) {
  po::positional_options_description positions;
  positions.add(positional.c_str(), -1);
  try {
    po::variables_map given;
    po::store(
        po::command_line_parser(arguments)
            .options(options)
            .positional(positions)
            .extra_style_parser(take_negative_numbers)
            .style(po::command_line_style::default_style & ~po::command_line_style::allow_guessing)
            .run(),
        given);
    po::notify(given);
    return given;
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see --help");
  }
}

std::vector<std::string> values(const po::variables_map& given, const std::string& option) {
  return given.count(option) != 0 ? given[option].as<std::vector<std::string>>()
                                  : std::vector<std::string>();
}

std::string describe(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  return text.str();
}

}  // namespace pipewright::cli
