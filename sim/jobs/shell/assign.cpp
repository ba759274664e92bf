#include <fmt/format.h>

#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/expand.hpp"

namespace pipewright::jobs {

void Evaluator::note_key(const std::string& array) {
  shell_.not_followed(fmt::format("{}[..]", array),
                      "only a running shell knows the index, so the element is not set");
}

void Evaluator::assign(const Assignment& assignment) {
  const config::Origin origin{.source = shell_.file, .line = assignment.value.line, .column = 1};
  shell_.assigned = assignment.name;
  assign_value(assignment, origin);
  shell_.assigned.clear();
}

void Evaluator::assign_value(const Assignment& assignment, const config::Origin& origin) {
  if (assignment.is_array) {
    const Variable* const old = shell_.find(assignment.name);
    const bool associative = old != nullptr && old->associative;
    std::vector<Word> words;
    std::vector<std::pair<std::string, Word>> pairs;
    for (const RawWord& item : assignment.items) {
      const std::size_t close = item.raw.find("]=");
      if (item.raw.starts_with('[') && close != std::string::npos) {
        const auto key =
            expand_key(assignment.name, {item.raw.substr(1, close - 1), item.line}, shell_);
        if (!key) {
          note_key(assignment.name);
          continue;
        }
        pairs.emplace_back(*key,
                           Word{expand_to_text({item.raw.substr(close + 2), item.line}, shell_),
                                {.source = shell_.file, .line = item.line, .column = 1}});
        continue;
      }
      for (Word& word : expand_word(item, shell_)) {
        word.text = without_marks(word.text);
        words.push_back(std::move(word));
      }
    }
    if (assignment.appends && old != nullptr && !associative) {
      std::vector<Word> all = old->words;
      all.insert(all.end(), words.begin(), words.end());
      words = std::move(all);
    }
    if (!(assignment.appends && associative)) shell_.assign_array(assignment.name, words);
    for (auto& [key, word] : pairs) shell_.assign_element(assignment.name, key, std::move(word));
    return;
  }
  Word word{expand_to_text(assignment.value, shell_), origin};
  const Variable* const old = shell_.find(assignment.name);
  if (assignment.index) {
    const auto key =
        expand_key(assignment.name, {*assignment.index, assignment.value.line}, shell_);
    if (!key) return note_key(assignment.name);
    const Word* const element = old == nullptr ? nullptr : shell_.element(*old, *key);
    if (assignment.appends && element != nullptr) word.text = element->text + word.text;
    return shell_.assign_element(assignment.name, *key, std::move(word));
  }
  if (assignment.appends && old != nullptr && !old->words.empty()) {
    const bool moves = old->words.front().origin.source == shell_.file;
    const int first = old->words.front().origin.line;
    word.text = old->words.front().text +
                (moves && first != origin.line ? line_mark(origin.line) : "") + word.text;
    word.origin = old->words.front().origin;
    constexpr std::size_t max_value = 1U << 20U;
    if (word.text.size() > max_value)
      throw config::Error(shell_.here(), "a value has more than a million bytes");
  }
  shell_.assign(assignment.name, std::move(word));
}

void Evaluator::assign_for(const Node& node,
                           std::vector<std::pair<std::string, std::optional<Variable>>>& old) {
  for (const Part& part : node.parts) {
    if (!part.assignment) break;
    const Variable* const before = shell_.find(part.assignment->name);
    old.emplace_back(part.assignment->name,
                     before == nullptr ? std::nullopt : std::optional(*before));
    assign(*part.assignment);
    shell_.script.variables[part.assignment->name].exported = true;
  }
}

}  // namespace pipewright::jobs
