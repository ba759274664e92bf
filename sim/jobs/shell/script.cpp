#include "sim/jobs/shell/script.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "sim/config/text/plain_text.hpp"
#include "sim/jobs/shell/condition.hpp"
#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/tokens.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t max_words = 200'000;

bool is_variable_name(std::string_view text) {
  return !text.empty() && (text.front() < '0' || text.front() > '9') &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_';
         });
}

class Interpreter {
 public:
  Interpreter(std::string_view text, const std::string& name, Script& script)
      : tokens_(tokens_of(text, &documents_)), name_(name), script_(script) {}

  void interpret() {
    while (at_ < tokens_.size()) statement();
    constexpr std::size_t max_documents = 100;
    for (const HereDocument& document : documents_)
      if (script_.documents.size() < max_documents)
        script_.documents.push_back({expand_document(document.text, script_),
                                     {.source = name_, .line = document.line, .column = 1}});
  }

 private:
  // State of an open if, case or loop. Its current branch runs if `active`; bodies of loops never
  // run.
  struct Block {
    bool outer = true;
    bool active = true;
    bool done = false;    // an earlier branch has run
    std::string subject;  // text that a case matches
    bool is_case = false;
  };

  bool active() const { return blocks_.empty() || blocks_.back().active; }
  bool is_word(std::size_t at, std::string_view word) const {
    return at < tokens_.size() && !tokens_[at].is_operator && tokens_[at].raw == word;
  }

  void statement() {
    const Token& token = tokens_[at_];
    if (!blocks_.empty() && blocks_.back().is_case && case_pattern()) return;
    if (token.is_operator) {
      if (token.raw == "&&" || token.raw == "||")
        joint_ = token.raw;
      else if (token.raw == ";")
        joint_.clear();
      if (token.raw != "&&" && token.raw != "||" && token.raw != ";") joint_.clear();
      ++at_;
      return;
    }
    if (keyword(token.raw)) return;
    std::vector<Token> command;
    while (at_ < tokens_.size() && !tokens_[at_].is_operator) command.push_back(tokens_[at_++]);
    const bool runs = active() && (joint_.empty() || (joint_ == "&&") == last_);
    if (runs) last_ = run(command);
  }

  bool keyword(const std::string& raw) {
    if (raw == "if" || raw == "elif") {
      ++at_;
      if (raw == "if") blocks_.push_back({.outer = active()});
      if (blocks_.empty()) return true;
      Block& block = blocks_.back();
      const bool asks = block.outer && !block.done;
      block.active = asks;
      block.active = condition() && asks;
      block.done = block.done || block.active;
      return true;
    }
    if (raw == "else") {
      ++at_;
      if (blocks_.empty()) return true;
      Block& block = blocks_.back();
      block.active = block.outer && !block.done;
      block.done = true;
      return true;
    }
    if (raw == "for" || raw == "while" || raw == "until") {
      ++at_;
      blocks_.push_back({.outer = active(), .active = false, .done = true});
      return true;
    }
    if (raw == "case") {
      ++at_;
      Block block{.outer = active(), .active = false, .is_case = true};
      if (at_ < tokens_.size()) block.subject = expand_to_text(tokens_[at_++].raw, script_);
      if (is_word(at_, "in")) ++at_;
      blocks_.push_back(std::move(block));
      pattern_next_ = true;
      return true;
    }
    if (raw == "fi" || raw == "done" || raw == "esac") {
      ++at_;
      if (!blocks_.empty()) blocks_.pop_back();
      return true;
    }
    if (raw == "then" || raw == "do" || raw == "{" || raw == "}" || raw == "function") {
      ++at_;
      joint_.clear();
      return true;
    }
    return false;
  }

  // Reads a line of patterns `a|b)` of a case statement, or its end `;;`. Returns false for other
  // tokens.
  bool case_pattern() {
    const Token& token = tokens_[at_];
    Block& block = blocks_.back();
    if (token.is_operator && token.raw == ";;") {
      ++at_;
      block.active = false;
      pattern_next_ = true;
      return true;
    }
    if (!pattern_next_ || (!token.is_operator && token.raw == "esac")) return false;
    bool fits = false;
    while (at_ < tokens_.size() && !(tokens_[at_].is_operator && tokens_[at_].raw == ")")) {
      if (is_word(at_, "esac")) return false;
      const Token& part = tokens_[at_++];
      if (!part.is_operator)
        fits = fits || matches(block.subject, expand_to_text(part.raw, script_));
    }
    ++at_;
    pattern_next_ = false;
    block.active = block.outer && !block.done && fits;
    block.done = block.done || block.active;
    return true;
  }

  // Evaluates test commands up to `then`, joined by && and ||. Unknown results count as false.
  bool condition() {
    bool result = true;
    std::string joint;
    const int line = at_ < tokens_.size() ? tokens_[at_].line : 0;
    bool unsure = false;
    while (at_ < tokens_.size() && !is_word(at_, "then")) {
      if (tokens_[at_].is_operator) {
        if (tokens_[at_].raw != ";") joint = tokens_[at_].raw;
        ++at_;
        continue;
      }
      std::vector<Word> command;
      const bool inside = tokens_[at_].raw == "[[";
      while (at_ < tokens_.size() && !tokens_[at_].is_operator && !is_word(at_, "then")) {
        // Expand without splitting, as in [[ ]]: empty words are kept.
        const std::string text = expand_to_text(tokens_[at_].raw, script_);
        command.push_back({text, {}});
        ++at_;
      }
      bool negated = false;
      if (!command.empty() && command.front().text == "!") {
        negated = true;
        command.erase(command.begin());
      }
      // Tokens were split at the && or || inside [[ a && b ]], so that the rest lacks its [[.
      if (!inside && !command.empty() && command.back().text == "]]" && command.front().text != "[")
        command.insert(command.begin(), {"[[", {}});
      const std::optional<bool> outcome = holds(command);
      if (!outcome) unsure = true;
      const bool value = outcome ? *outcome != negated : false;
      if (joint == "||")
        result = result || value;
      else
        result = result && value;
    }
    if (unsure && active()) script_.unsure.push_back(fmt::format("{}:{}", name_, line));
    return result;
  }

  // Sets a variable, or appends to it. False if the token is not an assignment.
  bool assign(const Token& token) {
    const std::size_t equals = token.raw.find('=');
    if (equals == std::string::npos || equals == 0) return false;
    const bool appends = token.raw[equals - 1] == '+';
    const std::string name = token.raw.substr(0, equals - (appends ? 1 : 0));
    if (!is_variable_name(name)) return false;
    Variable& variable = script_.variables[name];
    if (variable.from_user) return true;
    if (token.is_array) {
      std::vector<Word> words;
      for (const Token& item : token.items)
        for (Word& word : expand(item, name_, script_)) words.push_back(std::move(word));
      if (!appends) variable.words.clear();
      if (variable.words.size() + words.size() < max_words)
        variable.words.insert(variable.words.end(), words.begin(), words.end());
      variable.array = true;
      return true;
    }
    Word word{expand_to_text(token.raw.substr(equals + 1), script_),
              {.source = name_, .line = first_line(token), .column = 1}};
    if (appends && !variable.words.empty()) {
      if (variable.words.front().text.size() + word.text.size() < (1U << 20U))
        variable.words.front().text += word.text;
    } else {
      variable.words = {std::move(word)};
      variable.array = false;
    }
    return true;
  }

  static int first_line(const Token& token) { return token.line; }

  // Reads a script that this one sources. The file of `source $(dirname $0)/common.sh` is looked
  // for beside this script.
  void read_sourced_script(const std::string& path) {
    constexpr int deepest = 8;
    if (!script_.read_file || script_.depth >= deepest) return;
    const std::size_t end = path.rfind(unknown_end);
    const std::string suffix = end == std::string::npos ? path : path.substr(end + 1);
    const std::filesystem::path file =
        std::filesystem::path(name_).parent_path() / std::filesystem::path(suffix).relative_path();
    const std::optional<std::string> text = script_.read_file(file.string());
    if (!text) return;
    ++script_.depth;
    read_script(*text, file.string(), script_);
    --script_.depth;
  }

  bool run(const std::vector<Token>& command) {
    if (command.empty()) return true;
    const std::string& first = command.front().raw;
    static constexpr std::array declares{"export", "declare", "local", "readonly", "typeset"};
    if (std::ranges::find(declares, first) != declares.end()) {
      for (std::size_t i = 1; i < command.size(); ++i) assign(command[i]);
      return true;
    }
    std::size_t begin = 0;
    while (begin < command.size() && assign(command[begin])) ++begin;
    if (begin == command.size()) return true;
    std::vector<Word> words;
    for (std::size_t i = begin; i < command.size(); ++i)
      for (Word& word : expand(command[i], name_, script_)) words.push_back(std::move(word));
    if (words.empty()) return true;
    if (const std::optional<bool> test = holds(words)) return *test;
    if ((words.front().text == "source" || words.front().text == ".") && words.size() > 1) {
      read_sourced_script(words[1].text);
      return true;
    }
    if (words.size() < max_words) script_.commands.push_back(std::move(words));
    return true;
  }

  std::vector<HereDocument> documents_;
  std::vector<Token> tokens_;
  std::string name_;
  Script& script_;
  std::size_t at_ = 0;
  std::vector<Block> blocks_;
  std::string joint_;
  bool last_ = true;
  bool pattern_next_ = false;
};

void read_batch_lines(std::string_view text, const std::string& name, Script& script) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    constexpr std::string_view mark = "#SBATCH";
    if (text.starts_with(mark) && script.batch.size() < max_words) {
      const Word line_text{std::string(text.substr(mark.size(), end - mark.size())),
                           {.source = name, .line = line, .column = 1}};
      for (Word& word : split_words(line_text)) script.batch.push_back(std::move(word));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line;
  }
}

}  // namespace

void read_script(std::string_view text, const std::string& name, Script& script) {
  config::check_plain_text(text, {.source = name, .line = 1, .column = 1}, true, "a script");
  read_batch_lines(text, name, script);
  Interpreter(text, name, script).interpret();
}

std::vector<Word> split_words(const Word& word) {
  std::vector<Word> words;
  std::string plain = word.text;
  // Unknowns are kept.
  std::ranges::replace(plain, joined_line, '\n');
  for (const Token& token : tokens_of(plain)) {
    if (token.is_operator) continue;
    std::string text;
    for (const char c : token.raw)
      if (c != '"' && c != '\'') text += c;
    config::Origin origin = word.origin;
    if (origin.line > 0) origin.line += token.line - 1;
    words.push_back({std::move(text), origin});
  }
  return words;
}

}  // namespace pipewright::jobs
