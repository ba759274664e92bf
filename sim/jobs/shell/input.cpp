#include <algorithm>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/parser.hpp"
#include "sim/jobs/shell/tools.hpp"

namespace pipewright::jobs {

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
      shell_.not_followed(fmt::format("{} {}", texts[0], texts[i - 1]),
                          "the option is not followed");
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

}  // namespace pipewright::jobs
