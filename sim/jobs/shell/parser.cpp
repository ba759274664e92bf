#include "sim/jobs/shell/parser.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "sim/jobs/shell/reader.hpp"

namespace pipewright::jobs {
namespace {

using Words = std::span<const std::string_view>;
using Builder = std::shared_ptr<Node>;

constexpr std::array<std::string_view, 5> declarers{"export", "declare", "local", "readonly",
                                                    "typeset"};

bool contains(Words words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name, int line) : in_(text, name, line) {}

  NodePtr parse() {
    NodePtr list = read_list({});
    in_.skip_lines();
    if (!in_.at_end())
      in_.fail(fmt::format("{} does not belong here", in_.peek() == ')' ? ")" : in_.peek_word()), 0,
               "bash refuses it, too; quote the word if it is an argument");
    return list;
  }

 private:
  Builder make(Node::Kind kind) {
    Builder node = std::make_shared<Node>();
    node->kind = kind;
    node->line = in_.line();
    return node;
  }

  // Reads commands until the end, a closing bracket, or one of the words `ends`, which is not
  // taken.
  NodePtr read_list(Words ends) {
    if (++depth_ > max_depth) in_.fail("commands are nested too deeply");
    Builder list = make(Node::Kind::list);
    for (;;) {
      in_.skip_lines();
      if (in_.at_end() || in_.peek() == ')' || in_.starts(";;") || in_.starts(";&")) break;
      if (contains(ends, in_.peek_word())) break;
      if (in_.peek() == ';') {  // a sign without a command, which bash refuses
        in_.advance(1);
        continue;
      }
      list->children.push_back(read_pipeline());
      list->signs.push_back(read_sign());
    }
    --depth_;
    return list;
  }

  std::string read_sign() {
    in_.skip_blanks();
    for (const std::string_view sign : {"&&", "||"})
      if (in_.starts(sign)) {
        in_.advance(2);
        in_.skip_lines();
        if (in_.at_end()) in_.fail(fmt::format("a command is missing after {}", sign));
        return std::string(sign);
      }
    const bool ends_branch = in_.starts(";;") || in_.starts(";&");
    if (!ends_branch && (in_.peek() == ';' || in_.peek() == '&')) {
      std::string sign(1, in_.peek());
      in_.advance(1);
      return sign;
    }
    if (!in_.at_end() && !ends_branch && in_.peek() != '\n' && in_.peek() != ')')
      in_.fail(fmt::format("{} does not belong here", in_.peek() == '(' ? "(" : in_.peek_word()), 0,
               in_.peek() == '(' ? "put the argument in quotes, as bash refuses a ( here" : "");
    return ";";
  }

  NodePtr read_pipeline() {
    Builder line = make(Node::Kind::pipeline);
    in_.skip_blanks();
    for (std::string word = in_.peek_word(); word == "!" || word == "time";
         word = in_.peek_word()) {
      if (word == "!") line->negated = !line->negated;
      in_.advance(word.size());
      in_.skip_blanks();
      if (word == "time" && in_.peek_word() == "-p") in_.advance(2);
      in_.skip_blanks();
    }
    for (;;) {
      line->children.push_back(read_command());
      in_.skip_blanks();
      if (in_.peek() != '|' || in_.starts("||")) break;
      in_.advance(in_.starts("|&") ? 2 : 1);
      in_.skip_lines();
    }
    if (line->children.size() == 1 && !line->negated) return line->children.front();
    return line;
  }

  NodePtr read_command() {
    if (++depth_ > max_depth) in_.fail("commands are nested too deeply");
    NodePtr command = read_command_here();
    --depth_;
    return command;
  }

  NodePtr read_command_here() {
    in_.skip_blanks();
    const std::string word = in_.peek_word();
    Builder node;
    if (in_.starts("(("))
      node = read_arithmetic();
    else if (in_.peek() == '(')
      node = read_subshell();
    else if (word == "{")
      node = read_group();
    else if (word == "if")
      node = read_branch();
    else if (word == "for")
      node = read_for();
    else if (word == "while" || word == "until")
      node = read_loop(word == "until");
    else if (word == "case")
      node = read_choice();
    else if (word == "[[")
      node = read_test();
    else if (word == "function")
      return read_function_word();
    else if (word == "select" || word == "coproc")
      in_.fail(fmt::format("{} is not followed", word), 0,
               "write the training command without it, or give --run-with-bash");
    else
      return read_simple();
    read_redirections(node);
    return node;
  }

  void read_redirections(const Builder& node) {
    for (in_.skip_blanks(); read_redirection(node);) in_.skip_blanks();
  }

  bool read_redirection(const Builder& node) {
    if (!in_.read_redirection(node->redirections)) return false;
    Redirection& added = node->redirections.back();
    if (added.sign != "<<" && added.sign != "<<-") return true;
    std::string mark = added.target.raw;
    added.is_literal = mark.find_first_of("'\"\\") != std::string::npos;
    std::erase_if(mark, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    in_.await_document(node, node->redirections.size() - 1, mark, added.sign == "<<-");
    added.sign = "<<";
    return true;
  }

  void take(std::string_view word) {
    in_.skip_lines();
    if (in_.peek_word() != word)
      in_.fail(fmt::format("'{}' is missing", word), 0, "bash refuses the script, too");
    in_.advance(word.size());
  }

  NodePtr read_body(std::string_view begin, Words ends) {
    take(begin);
    return read_list(ends);
  }

  Builder read_arithmetic() {
    Builder node = make(Node::Kind::arithmetic);
    in_.advance(2);
    node->words.push_back(in_.read_bracket(')'));
    if (in_.peek() != ')') in_.fail("(( is not closed by ))");
    in_.advance(1);
    return node;
  }

  Builder read_subshell() {
    Builder node = make(Node::Kind::subshell);
    in_.advance(1);
    node->children.push_back(read_list({}));
    if (in_.peek() != ')') in_.fail("the ( is not closed", node->line);
    in_.advance(1);
    return node;
  }

  Builder read_group() {
    Builder node = make(Node::Kind::group);
    node->children.push_back(read_body("{", close_brace));
    take("}");
    return node;
  }

  Builder read_branch() {
    Builder node = make(Node::Kind::branch);
    std::string_view begin = "if";
    while (begin != "else") {
      node->children.push_back(read_body(begin, then));
      node->children.push_back(read_body("then", branch_ends));
      in_.skip_lines();
      const std::string next = in_.peek_word();
      if (next != "elif" && next != "else") break;
      begin = next == "elif" ? "elif" : "else";
    }
    if (begin == "else") node->children.push_back(read_body("else", fi));
    take("fi");
    return node;
  }

  NodePtr read_do() {
    in_.skip_lines();
    if (in_.peek() == ';') in_.advance(1);
    NodePtr body = read_body("do", done);
    take("done");
    return body;
  }

  Builder read_for() {
    Builder node = make(Node::Kind::for_words);
    in_.advance(3);
    in_.skip_blanks();
    if (in_.starts("((")) {
      node->kind = Node::Kind::for_numbers;
      read_three_expressions(*node);
      in_.skip_blanks();
    } else {
      node->name = in_.read_word().raw;
      if (!is_variable_name(node->name)) in_.fail("for needs the name of a variable");
      read_for_words(*node);
    }
    node->children.push_back(read_do());
    return node;
  }

  void read_for_words(Node& node) {
    in_.skip_lines();
    node.over_arguments = in_.peek_word() != "in";
    if (node.over_arguments) return;
    in_.advance(2);
    for (in_.skip_blanks(); !in_.at_word_end(); in_.skip_blanks())
      node.words.push_back(in_.read_word());
  }

  void read_three_expressions(Node& node) {
    in_.advance(2);
    const RawWord all = in_.read_bracket(')');
    if (in_.peek() != ')') in_.fail("(( is not closed by ))");
    in_.advance(1);
    std::string_view rest = all.raw;
    for (int i = 0; i < 3; ++i) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      node.words.push_back({std::string(rest.substr(0, end)), all.line});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  Builder read_loop(bool until) {
    Builder node = make(Node::Kind::loop);
    node->negated = until;
    node->children.push_back(read_body(until ? "until" : "while", do_word));
    node->children.push_back(read_do());
    return node;
  }

  Builder read_choice() {
    Builder node = make(Node::Kind::choice);
    in_.advance(4);
    in_.skip_blanks();
    node->words.push_back(in_.read_word());
    take("in");
    for (in_.skip_lines(); in_.peek_word() != "esac"; in_.skip_lines()) {
      if (in_.at_end()) in_.fail("the case has no esac", node->line);
      node->branches.push_back(read_case_branch());
    }
    in_.advance(4);
    return node;
  }

  CaseBranch read_case_branch() {
    CaseBranch branch;
    if (in_.peek() == '(') in_.advance(1);
    for (;;) {
      in_.skip_blanks();
      if (in_.at_word_end()) in_.fail("a pattern of the case is missing");
      branch.patterns.push_back(in_.read_word());
      in_.skip_blanks();
      if (in_.peek() != '|') break;
      in_.advance(1);
    }
    if (in_.peek() != ')') in_.fail("the pattern of a case is not closed by )");
    in_.advance(1);
    branch.body = read_list(esac);
    in_.skip_lines();
    branch.end = ";;";
    for (const std::string_view sign : {";;&", ";;", ";&"})
      if (in_.starts(sign)) {
        branch.end = sign;
        in_.advance(sign.size());
        break;
      }
    return branch;
  }

  Builder read_test() {
    Builder node = make(Node::Kind::test);
    in_.advance(2);
    bool pattern_next = false;
    for (;;) {
      in_.skip_lines();
      if (in_.at_end()) in_.fail("the [[ is not closed by ]]", node->line);
      if (in_.peek_word() == "]]") break;
      RawWord word = pattern_next ? in_.read_pattern_word() : read_test_word();
      pattern_next = !word.is_operator && word.raw == "=~";
      node->words.push_back(std::move(word));
    }
    in_.advance(2);
    return node;
  }

  RawWord read_test_word() {
    for (const std::string_view sign : {"&&", "||", "(", ")", "<", ">"})
      if (in_.starts(sign)) {
        in_.advance(sign.size());
        return {std::string(sign), in_.line(), true};
      }
    if (in_.at_word_end()) in_.fail(fmt::format("{} does not belong within [[ ]]", in_.peek()));
    RawWord word = in_.read_word();
    word.is_operator = word.raw == "!";
    return word;
  }

  NodePtr read_function_word() {
    in_.advance(std::string_view("function").size());
    in_.skip_blanks();
    std::string name = in_.read_word().raw;
    in_.skip_blanks();
    if (in_.peek() == '(') {
      in_.advance(1);
      in_.skip_blanks();
      in_.advance(1);
    }
    return read_function(std::move(name));
  }

  NodePtr read_function(std::string name) {
    Builder node = make(Node::Kind::function);
    node->name = std::move(name);
    in_.skip_lines();
    node->children.push_back(read_command());
    return node;
  }

  NodePtr read_simple() {
    Builder node = make(Node::Kind::simple);
    bool has_words = false;
    bool declares = false;
    for (in_.skip_blanks();; in_.skip_blanks()) {
      if (read_redirection(node)) continue;
      if (in_.at_word_end()) {
        const bool alone = node->parts.size() == 1 && has_words;
        if (in_.peek() != '(' || !alone) break;
        in_.advance(1);
        in_.skip_blanks();
        if (in_.peek() != ')')
          in_.fail("( does not belong here", 0,
                   "put the argument in quotes, as bash refuses a ( here");
        in_.advance(1);
        return read_function(node->parts.front().word.raw);
      }
      Part part{.word = in_.read_word(), .assignment = {}};
      if (!has_words || declares) part.assignment = read_assignment(part.word);
      if (!part.assignment && !has_words) {
        has_words = true;
        declares = contains(declarers, part.word.raw);
      }
      node->parts.push_back(std::move(part));
    }
    if (node->parts.empty() && node->redirections.empty())
      in_.fail(fmt::format("a command is missing before {}", in_.peek()));
    return node;
  }

  std::optional<Assignment> read_assignment(const RawWord& word) {
    std::optional<Assignment> assignment = assignment_in(word.raw, word.line);
    if (!assignment || !assignment->value.raw.empty() || in_.peek() != '(') return assignment;
    in_.advance(1);
    assignment->is_array = true;
    for (in_.skip_lines(); in_.peek() != ')'; in_.skip_lines()) {
      if (in_.at_end())
        in_.fail(fmt::format("the array {} is not closed by )", assignment->name), word.line);
      if (in_.at_word_end())
        in_.fail(fmt::format("{} does not belong into an array", in_.peek()), 0, "quote it");
      assignment->items.push_back(in_.read_word());
    }
    in_.advance(1);
    return assignment;
  }

  static constexpr int max_depth = 200;
  static constexpr std::array<std::string_view, 1> close_brace{"}"};
  static constexpr std::array<std::string_view, 1> then{"then"};
  static constexpr std::array<std::string_view, 3> branch_ends{"elif", "else", "fi"};
  static constexpr std::array<std::string_view, 1> fi{"fi"};
  static constexpr std::array<std::string_view, 1> do_word{"do"};
  static constexpr std::array<std::string_view, 1> done{"done"};
  static constexpr std::array<std::string_view, 1> esac{"esac"};

  TextReader in_;
  int depth_ = 0;
};

}  // namespace

std::optional<Assignment> assignment_in(std::string_view raw, int line) {
  std::size_t at = 0;
  while (at < raw.size() && raw[at] != '=' && raw[at] != '+' && raw[at] != '[') ++at;
  Assignment assignment{.name = std::string(raw.substr(0, at))};
  if (!is_variable_name(assignment.name) || at == raw.size()) return std::nullopt;
  if (raw[at] == '[') {
    const std::size_t close = raw.find(']', at);
    if (close == std::string_view::npos) return std::nullopt;
    assignment.index = raw.substr(at + 1, close - at - 1);
    at = close + 1;
  }
  if (raw.substr(at).starts_with("+=")) {
    assignment.appends = true;
    ++at;
  }
  if (at >= raw.size() || raw[at] != '=') return std::nullopt;
  assignment.value = {std::string(raw.substr(at + 1)), line};
  return assignment;
}

NodePtr parse_script(std::string_view text, const std::string& name, int line) {
  return Parser(text, name, line).parse();
}

}  // namespace pipewright::jobs
