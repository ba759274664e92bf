#include "sim/jobs/shell/evaluator.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/jobs/shell/expand.hpp"
#include "sim/jobs/shell/parser.hpp"
#include "sim/jobs/shell/pattern.hpp"
#include "sim/jobs/shell/test.hpp"

namespace pipewright::jobs {
namespace {

constexpr int max_nested_commands = 200;
constexpr std::size_t max_rounds = 20'000;

// Command as the script writes it, for messages.
std::string shown(const Node& node) {
  std::string text;
  if (node.kind == Node::Kind::pipeline && !node.children.empty())
    return (node.negated ? "! " : "") + shown(*node.children.front());
  if (node.kind == Node::Kind::list && !node.children.empty()) return shown(*node.children.front());
  if (node.kind == Node::Kind::test) text = "[[";
  for (const RawWord& word : node.words) text += " " + word.raw;
  for (const Part& part : node.parts) text += (text.empty() ? "" : " ") + part.word.raw;
  if (node.kind == Node::Kind::test) text += " ]]";
  constexpr std::size_t max_shown = 60;
  text = readable(text);
  return text.size() > max_shown ? text.substr(0, max_shown) + "..." : text;
}

}  // namespace

Evaluator::Evaluator(Script& script, std::string file) : shell_(script), start_(file) {
  shell_.file = std::move(file);
  shell_.zero = shell_.file.substr(shell_.file.rfind('/') + 1);
  shell_.substitute = [this](std::string_view text, int line) { return substitute(text, line); };
  for (std::size_t i = 1;; ++i) {
    const Variable* const argument = shell_.find(fmt::format("{}", i));
    if (argument == nullptr || argument->words.empty()) break;
    shell_.arguments.push_back(argument->words.front());
  }
}

void Evaluator::run_file(std::string_view text) {
  const NodePtr tree = parse_script(text, shell_.file);
  add_written(*tree, shell_.script.written);
  run(*tree);
  flow_ = Flow::normal;
}

void Evaluator::write(std::string_view text) {
  if (output_ == nullptr) return;
  shell_.charge(1 + text.size() / 16);
  *output_ += text;
}

void Evaluator::run(const Node& node) {
  if (flow_ != Flow::normal) return;
  shell_.charge(1);
  if (++depth_ > max_nested_commands)
    throw config::Error(shell_.here(), "commands are nested too deeply")
        .suggest("give --run-with-bash");
  const int outer_line = shell_.line;
  shell_.line = node.line;
  {
    const Redirected redirected(*this, node);
    run_here(node);
  }
  if (node.kind != Node::Kind::list) shell_.line = outer_line;
  --depth_;
}

void Evaluator::run_here(const Node& node) {
  switch (node.kind) {
    case Node::Kind::simple:
      return run_simple(node);
    case Node::Kind::pipeline:
      return run_pipeline(node);
    case Node::Kind::list:
      return run_list(node);
    case Node::Kind::branch:
      return run_branch(node);
    case Node::Kind::for_words:
      return run_for_words(node);
    case Node::Kind::for_numbers:
      return run_for_numbers(node);
    case Node::Kind::loop:
      return run_loop(node);
    case Node::Kind::choice:
      return run_choice(node);
    case Node::Kind::group:
      return run(*node.children.front());
    case Node::Kind::subshell:
      return run_subshell(*node.children.front());
    case Node::Kind::function:
      shell_.script.functions[node.name] = node.children.front();
      shell_.status = true;
      return;
    case Node::Kind::test:
      shell_.status = holds(node, shell_);
      return;
    case Node::Kind::arithmetic:
      if (const auto value = evaluate_number(node.words.front(), shell_))
        shell_.status = *value != 0;
      else
        shell_.status = std::nullopt;
      return;
    case Node::Kind::not_supported:
      shell_.not_followed(node.name, "the construct is not followed");
      return;
  }
}

void Evaluator::run_list(const Node& list) {
  for (std::size_t i = 0; i < list.children.size() && flow_ == Flow::normal; ++i) {
    const std::string before = i == 0 ? ";" : list.signs[i - 1];
    bool runs = true;
    if (before == "&&" || before == "||") {
      const Node& decides = *list.children[i - 1];
      runs = !shell_.status || *shell_.status == (before == "&&");
      // A test that is unknown counts as false, a program as successful.
      if (!shell_.status) {
        const bool is_program =
            decides.kind != Node::Kind::test && decides.kind != Node::Kind::arithmetic &&
            (decides.parts.empty() ||
             (decides.parts[0].word.raw != "[" && decides.parts[0].word.raw != "test"));
        runs = is_program == (before == "&&");
        shell_.line = decides.line;
        note({list.children[i].get()}, shown(decides),
             fmt::format("only a running shell knows the result, which is taken as {}",
                         is_program ? "success" : "false"));
      }
    }
    if (runs) run(*list.children[i]);
  }
}

void Evaluator::run_pipeline(const Node& pipeline) {
  Stream* const outer_input = input_;
  std::string* const outer_output = output_;
  Stream between;
  for (std::size_t i = 0; i < pipeline.children.size(); ++i) {
    const bool last = i + 1 == pipeline.children.size();
    std::string written;
    output_ = last ? outer_output : &written;
    if (pipeline.children.size() == 1)
      run(*pipeline.children[i]);
    else
      run_subshell(*pipeline.children[i]);
    between = {.text = std::move(written)};
    input_ = &between;
  }
  input_ = outer_input;
  output_ = outer_output;
  if (pipeline.negated && shell_.status) shell_.status = !*shell_.status;
}

void Evaluator::note(std::initializer_list<const Node*> bodies, const std::string& text,
                     const std::string& why) {
  if (std::ranges::any_of(bodies, [](const Node* body) { return may_matter(*body); }))
    shell_.not_followed(text, why);
}

bool Evaluator::condition_holds(const Node& condition, std::initializer_list<const Node*> bodies) {
  run(condition);
  if (shell_.status) return *shell_.status;
  shell_.line = condition.line;
  note(bodies, fmt::format("if {}", shown(condition)),
       "only a running shell knows the condition, which is taken as false");
  return false;
}

void Evaluator::run_branch(const Node& branch) {
  for (std::size_t i = 0; i + 1 < branch.children.size(); i += 2) {
    const Node* const otherwise = i + 2 < branch.children.size() ? branch.children.back().get()
                                                                 : branch.children[i + 1].get();
    const bool holds_here =
        condition_holds(*branch.children[i], {branch.children[i + 1].get(), otherwise});
    if (flow_ != Flow::normal) return;
    if (holds_here) return run(*branch.children[i + 1]);
  }
  shell_.status = true;
  if (branch.children.size() % 2 == 1) run(*branch.children.back());
}

bool Evaluator::run_round(const Node& body, std::size_t& rounds) {
  if (++rounds > max_rounds) {
    note({&body}, "loop", fmt::format("the loop is left after {} rounds", max_rounds));
    return false;
  }
  run(body);
  const bool breaks = flow_ == Flow::breaks;
  if (!breaks && flow_ != Flow::continues) return flow_ == Flow::normal;
  if (--levels_ > 0) return false;
  flow_ = Flow::normal;
  return !breaks;
}

void Evaluator::run_for_words(const Node& loop) {
  std::vector<Word> words =
      loop.over_arguments ? shell_.arguments : expand_words(loop.words, shell_);
  std::erase_if(words, [](const Word& word) { return word.may_vanish; });
  if (std::ranges::any_of(words, [](const Word& word) { return has_running_value(word.text); })) {
    note({loop.children.front().get()}, fmt::format("for {}", loop.name),
         "only a running shell knows the words, so the body is left out");
    shell_.status = true;
    return;
  }
  // A variable from the command line keeps its value.
  if (const Variable* const variable = shell_.find(loop.name);
      variable != nullptr && variable->from_user && !words.empty())
    words.resize(1);
  shell_.status = true;
  std::size_t rounds = 0;
  for (Word& word : words) {
    word.text = without_marks(word.text);
    shell_.assign(loop.name, word);
    if (!run_round(*loop.children.front(), rounds)) break;
  }
}

void Evaluator::run_for_numbers(const Node& loop) {
  evaluate_number(loop.words[0], shell_);
  std::size_t rounds = 0;
  for (;;) {
    const bool endless = loop.words[1].raw.find_first_not_of(" \t\n") == std::string::npos;
    const auto goes_on =
        endless ? std::optional<std::int64_t>(1) : evaluate_number(loop.words[1], shell_);
    if (!goes_on)
      note({loop.children.front().get()}, fmt::format("for ((;{};))", readable(loop.words[1].raw)),
           "only a running shell knows the end, so the loop is left out");
    if (!goes_on || *goes_on == 0 || !run_round(*loop.children.front(), rounds)) break;
    evaluate_number(loop.words[2], shell_);
  }
  shell_.status = true;
}

void Evaluator::run_loop(const Node& loop) {
  const Node& condition = *loop.children[0];
  const Node& body = *loop.children[1];
  for (std::size_t rounds = 0;;) {
    run(condition);
    if (flow_ != Flow::normal) break;
    if (!shell_.status)
      note({&body}, fmt::format("{} {}", loop.negated ? "until" : "while", shown(condition)),
           "only a running shell knows the condition, so the loop is left out");
    if (!shell_.status || *shell_.status == loop.negated || !run_round(body, rounds)) break;
  }
  shell_.status = true;
}

void Evaluator::run_choice(const Node& choice) {
  const std::string subject = expand_plainly(choice.words.front(), shell_);
  shell_.status = true;
  bool falls = false;
  for (const CaseBranch& branch : choice.branches) {
    bool fits = falls;
    for (const RawWord& raw : branch.patterns) {
      const std::string pattern = expand_pattern(raw, shell_);
      const bool all = pattern == "*";
      const std::optional<bool> match =
          unknown_in(subject) && !all ? std::nullopt : matches(subject, pattern);
      if (!match || unknown_in(pattern))
        note({branch.body.get()}, fmt::format("case {}", readable(choice.words.front().raw)),
             fmt::format("only a running shell knows whether {} matches, which is taken as false",
                         readable(raw.raw)));
      fits = fits || (match && *match);
    }
    if (!fits) continue;
    run(*branch.body);
    if (branch.end == ";;" || flow_ != Flow::normal) return;
    falls = branch.end == ";&";
  }
}

void Evaluator::run_subshell(const Node& body) {
  const Inner inner(*this);
  run(body);
}

std::string Evaluator::substitute(std::string_view text, int line) {
  constexpr int max_substitutions = 24;
  if (inner_ > max_substitutions)
    throw config::Error(shell_.here(), "command substitutions are nested too deeply");
  const NodePtr tree = parse_script(text, shell_.file, line);
  const int outer_line = shell_.line;
  const bool outer_foreign = foreign_;
  std::string written;
  bool is_foreign = false;
  {
    const Inner inner(*this);
    std::string* const outer_output = output_;
    output_ = &written;
    foreign_ = false;
    add_written(*tree, shell_.script.written);
    // $(< file) reads a file.
    const Node* only = tree->children.size() == 1 ? tree->children.front().get() : nullptr;
    if (only != nullptr && only->kind == Node::Kind::simple && only->parts.empty()) foreign_ = true;
    run(*tree);
    output_ = outer_output;
    is_foreign = foreign_;
  }
  foreign_ = outer_foreign;
  shell_.line = outer_line;
  while (written.ends_with('\n')) written.pop_back();
  if (is_foreign) return unknown(fmt::format("$({})", without_marks(text)));
  return written;
}

}  // namespace pipewright::jobs
