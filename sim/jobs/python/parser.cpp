#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/jobs/python/syntax.hpp"
#include "sim/jobs/python/tokens.hpp"

namespace pipewright::jobs::python {
namespace {

using Kind = Node::Kind;
using TokenKind = Token::Kind;

std::shared_ptr<Node> make(Kind kind, const Token& at, std::string text = {}) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->text = std::move(text);
  node->line = at.line;
  node->begin = at.begin;
  node->end = at.end;
  return node;
}

// Operators of two operands, from those that bind weakly to those that bind tightly.
struct Level {
  std::array<std::string_view, 5> operators;
};
constexpr std::array<Level, 6> levels{Level{{"|"}},      Level{{"^"}},
                                      Level{{"&"}},      Level{{"<<", ">>"}},
                                      Level{{"+", "-"}}, Level{{"*", "/", "//", "%", "@"}}};
constexpr std::array<std::string_view, 6> comparisons{"==", "!=", "<", ">", "<=", ">="};
constexpr std::array<std::string_view, 12> augmentations{
    "+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", ">>=", "<<="};

class Parser {
 public:
  Parser(std::vector<Token> tokens, const std::string& source, int depth = 0)
      : tokens_(std::move(tokens)), source_(source), depth_(depth) {}

  std::vector<NodePtr> module() {
    std::vector<NodePtr> statements;
    while (peek().kind != TokenKind::end) add_statements(statements);
    return statements;
  }

  // Expression of an f-string. What follows it, such as the format .2f, is not read.
  NodePtr lone_expression() { return expressions(); }

 private:
  // Counts the nesting of expressions and blocks, which is limited.
  struct Nesting {
    explicit Nesting(Parser& parser) : parser(parser) {
      constexpr int deepest = 200;
      if (++parser.depth_ > deepest) parser.fail("the nesting is too deep");
    }
    ~Nesting() { --parser.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Parser& parser;
  };

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(std::string_view operation) const {
    return peek().kind == TokenKind::operation && peek().text == operation;
  }
  bool is_word(std::string_view word, std::size_t ahead = 0) const {
    return peek(ahead).kind == TokenKind::name && peek(ahead).text == word;
  }
  bool accept(std::string_view operation) {
    if (!is(operation)) return false;
    take();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!is_word(word)) return false;
    take();
    return true;
  }
  void expect(std::string_view operation) {
    if (!accept(operation)) fail(fmt::format("expected {}", config::in_quotes(operation)));
  }
  std::string expect_name() {
    if (peek().kind != TokenKind::name) fail("expected a name");
    return take().text;
  }
  [[noreturn]] void fail(std::string_view message) const {
    throw config::Error(
        config::locate({.source = source_, .line = peek().line, .column = peek().column}, message));
  }
  // Sets the end of a node to that of the token before.
  NodePtr closed(std::shared_ptr<Node> node) const {
    if (at_ > 0) node->end = tokens_[at_ - 1].end;
    return node;
  }

  // Statements

  void add_statements(std::vector<NodePtr>& statements) {
    const Nesting nesting(*this);
    if (peek().kind == TokenKind::newline) {
      take();
      return;
    }
    if (NodePtr compound = compound_statement()) {
      statements.push_back(std::move(compound));
      return;
    }
    do {
      if (peek().kind == TokenKind::newline) break;
      statements.push_back(simple_statement());
    } while (accept(";"));
    if (peek().kind != TokenKind::end && take().kind != TokenKind::newline)
      fail("expected the end of the statement");
  }

  std::vector<NodePtr> block() {
    expect(":");
    std::vector<NodePtr> statements;
    if (peek().kind != TokenKind::newline) {
      add_statements(statements);
      return statements;
    }
    take();
    if (take().kind != TokenKind::indent) fail("expected an indented block");
    while (peek().kind != TokenKind::dedent && peek().kind != TokenKind::end)
      add_statements(statements);
    if (peek().kind == TokenKind::dedent) take();
    return statements;
  }

  NodePtr compound_statement() {
    const Token& first = peek();
    if (is("@")) return decorated();
    if (first.kind != TokenKind::name) return nullptr;
    if (first.text == "if") return branch();
    if (first.text == "for") return loop_for();
    if (first.text == "while") return loop_while();
    if (first.text == "def") return define({});
    if (first.text == "class") return type();
    if (first.text == "try") return attempt();
    if (first.text == "with") return with();
    if (first.text == "async") fail("statements with async are not read");
    return nullptr;
  }

  NodePtr decorated() {
    std::vector<NodePtr> decorators;
    while (accept("@")) {
      decorators.push_back(expression());
      if (peek().kind == TokenKind::newline) take();
    }
    if (is_word("class")) return type();
    if (!is_word("def")) fail("expected a function or a class");
    return define(std::move(decorators));
  }

  NodePtr branch() {
    auto node = make(Kind::branch, take());
    node->nodes.push_back(named_expression());
    closed(node);
    node->body = block();
    if (is_word("elif"))
      node->otherwise.push_back(branch());
    else if (accept_word("else"))
      node->otherwise = block();
    return node;
  }

  NodePtr loop_for() {
    auto node = make(Kind::loop_for, take());
    node->nodes.push_back(targets());
    if (!accept_word("in")) fail("expected 'in'");
    node->nodes.push_back(expressions());
    closed(node);
    node->body = block();
    if (accept_word("else")) node->otherwise = block();
    return node;
  }

  NodePtr loop_while() {
    auto node = make(Kind::loop_while, take());
    node->nodes.push_back(named_expression());
    closed(node);
    node->body = block();
    if (accept_word("else")) node->otherwise = block();
    return node;
  }

  NodePtr define(std::vector<NodePtr> decorators) {
    auto node = make(Kind::define, take());
    node->text = expect_name();
    node->nodes = std::move(decorators);
    skip_type_parameters();
    expect("(");
    node->parameters = parameters(")", true);
    expect(")");
    if (accept("->")) expression();
    closed(node);
    node->body = block();
    return node;
  }

  // Decorators of classes, such as dataclass, leave attributes and methods as they are.
  NodePtr type() {
    auto node = make(Kind::type, take());
    node->text = expect_name();
    skip_type_parameters();
    if (accept("(")) node->nodes = arguments();
    closed(node);
    node->body = block();
    return node;
  }

  void skip_type_parameters() {
    if (!accept("[")) return;
    while (!is("]") && peek().kind != TokenKind::end) take();
    expect("]");
  }

  NodePtr attempt() {
    auto node = make(Kind::attempt, take());
    node->body = block();
    while (is_word("except")) {
      auto handler = make(Kind::handler, take());
      accept("*");
      if (!is(":")) handler->nodes.push_back(expressions());
      if (accept_word("as")) handler->text = expect_name();
      handler->body = block();
      node->nodes.push_back(std::move(handler));
    }
    if (accept_word("else")) node->otherwise = block();
    if (accept_word("finally")) node->last = block();
    return node;
  }

  NodePtr with() {
    auto node = make(Kind::with, take());
    const bool is_grouped = is("(");
    do {
      node->nodes.push_back(expression());
      if (accept_word("as")) targets();
    } while (!is_grouped && accept(","));
    closed(node);
    node->body = block();
    return node;
  }

  NodePtr simple_statement() {
    const Token& first = peek();
    if (first.kind == TokenKind::name) {
      if (first.text == "return") return give_back();
      if (first.text == "raise") return raise();
      if (first.text == "import") return import();
      if (first.text == "from") return import_from();
      if (first.text == "assert") return assertion();
      if (first.text == "del") {
        auto node = make(Kind::remove, take());
        node->nodes.push_back(expressions());
        return closed(node);
      }
      if (first.text == "pass") return closed(make(Kind::pass, take()));
      if (first.text == "break") return closed(make(Kind::leave, take()));
      if (first.text == "continue") return closed(make(Kind::next, take()));
      const bool declares = first.text == "global" || first.text == "nonlocal" ||
                            (first.text == "type" && peek(1).kind == TokenKind::name);
      if (declares) {
        auto node = make(Kind::pass, take());
        while (peek().kind != TokenKind::newline && peek().kind != TokenKind::end) take();
        return closed(node);
      }
    }
    return expression_statement();
  }

  bool ends_simple_statement() const {
    return peek().kind == TokenKind::newline || peek().kind == TokenKind::end || is(";");
  }

  NodePtr give_back() {
    auto node = make(Kind::give_back, take());
    if (!ends_simple_statement()) node->nodes.push_back(expressions());
    return closed(node);
  }

  NodePtr raise() {
    auto node = make(Kind::raise, take());
    if (!ends_simple_statement()) node->nodes.push_back(expression());
    if (accept_word("from")) expression();
    return closed(node);
  }

  NodePtr assertion() {
    auto node = make(Kind::assertion, take());
    node->nodes.push_back(expression());
    if (accept(",")) node->nodes.push_back(expression());
    return closed(node);
  }

  std::string dotted_name() {
    std::string name = expect_name();
    while (accept(".")) name += "." + expect_name();
    return name;
  }

  NodePtr import() {
    auto node = make(Kind::import, take());
    do {
      std::string name = dotted_name();
      std::string own = accept_word("as") ? expect_name() : std::string();
      node->words.push_back(std::move(name));
      node->words.push_back(std::move(own));
    } while (accept(","));
    return closed(node);
  }

  NodePtr import_from() {
    auto node = make(Kind::import_from, take());
    while (is(".") || is("...")) node->text += take().text;
    if (!is_word("import")) node->text += dotted_name();
    if (!accept_word("import")) fail("expected 'import'");
    const bool is_grouped = accept("(");
    do {
      if (is_grouped && is(")")) break;
      if (accept("*")) {
        node->words.emplace_back("*");
        node->words.emplace_back();
        continue;
      }
      std::string name = expect_name();
      std::string own = accept_word("as") ? expect_name() : name;
      node->words.push_back(std::move(name));
      node->words.push_back(std::move(own));
    } while (accept(","));
    if (is_grouped) expect(")");
    return closed(node);
  }

  NodePtr expression_statement() {
    const Token& first = peek();
    NodePtr target = expressions();
    if (accept(":")) {
      auto node = make(Kind::annotated, first);
      node->nodes.push_back(std::move(target));
      expression();
      if (accept("=")) node->nodes.push_back(expressions());
      return closed(node);
    }
    for (const std::string_view operation : augmentations)
      if (accept(operation)) {
        auto node = make(Kind::augmented, first, std::string(operation));
        node->nodes.push_back(std::move(target));
        node->nodes.push_back(expressions());
        return closed(node);
      }
    if (!is("=")) {
      auto node = make(Kind::expression, first);
      node->nodes.push_back(std::move(target));
      return closed(node);
    }
    auto node = make(Kind::assign, first);
    node->nodes.push_back(std::move(target));
    while (accept("=")) node->nodes.push_back(expressions());
    return closed(node);
  }

  // Expressions

  // Targets of a loop or of `with`: names, attributes and tuples of them, without comparisons.
  NodePtr targets() {
    const Token& first = peek();
    NodePtr target = accept("*") ? starred() : postfix();
    if (!is(",")) return target;
    auto node = make(Kind::tuple, first);
    node->nodes.push_back(std::move(target));
    while (accept(",")) {
      if (is_word("in") || is("=")) break;
      node->nodes.push_back(accept("*") ? starred() : postfix());
    }
    return closed(node);
  }

  NodePtr starred() {
    auto node = make(Kind::star, peek());
    node->nodes.push_back(binary(0));
    return closed(node);
  }

  NodePtr item() { return accept("*") ? starred() : named_expression(); }

  // Returns whether an expression may begin at the next token.
  bool begins_expression() const {
    const Token& token = peek();
    switch (token.kind) {
      case TokenKind::number:
      case TokenKind::text:
      case TokenKind::formatted:
        return true;
      case TokenKind::name:
        return token.text != "in" && token.text != "for" && token.text != "else" &&
               token.text != "if" && token.text != "as";
      case TokenKind::operation:
        return token.text == "(" || token.text == "[" || token.text == "{" || token.text == "-" ||
               token.text == "+" || token.text == "~" || token.text == "*" || token.text == "...";
      default:
        return false;
    }
  }

  NodePtr expressions() {
    const Token& first = peek();
    NodePtr value = item();
    if (!is(",")) return value;
    auto node = make(Kind::tuple, first);
    node->nodes.push_back(std::move(value));
    while (accept(",")) {
      if (!begins_expression()) break;
      node->nodes.push_back(item());
    }
    return closed(node);
  }

  NodePtr named_expression() {
    if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::operation &&
        peek(1).text == ":=") {
      auto node = make(Kind::walrus, peek(), peek().text);
      take();
      take();
      node->nodes.push_back(expression());
      return closed(node);
    }
    return expression();
  }

  NodePtr expression() {
    const Nesting nesting(*this);
    const Token& first = peek();
    if (is_word("lambda")) return lambda();
    if (is_word("await")) fail("expressions with await are not read");
    if (is_word("yield")) return yield();
    NodePtr value = alternatives();
    if (!is_word("if")) return value;
    take();
    auto node = make(Kind::conditional, first);
    node->nodes.push_back(std::move(value));
    node->nodes.push_back(alternatives());
    if (!accept_word("else")) fail("expected 'else'");
    node->nodes.push_back(expression());
    return closed(node);
  }

  // Generators are not run: what they yield is unknown.
  NodePtr yield() {
    auto node = make(Kind::constant, take(), "yield");
    accept_word("from");
    if (begins_expression()) expressions();
    return closed(node);
  }

  NodePtr lambda() {
    auto node = make(Kind::lambda, take());
    node->parameters = parameters(":", false);
    expect(":");
    node->nodes.push_back(expression());
    return closed(node);
  }

  // Parameters of a function, up to the token `end`.
  std::vector<Node::Parameter> parameters(std::string_view end, bool has_annotations) {
    using ParameterKind = Node::Parameter::Kind;
    std::vector<Node::Parameter> list;
    bool is_keyword_only = false;
    while (!is(end)) {
      Node::Parameter parameter;
      if (accept("/")) {
        if (!accept(",")) break;
        continue;
      }
      if (accept("**")) {
        parameter.kind = ParameterKind::keywords;
      } else if (accept("*")) {
        is_keyword_only = true;
        if (accept(",")) continue;
        parameter.kind = ParameterKind::rest;
      } else if (is_keyword_only) {
        parameter.kind = ParameterKind::keyword_only;
      }
      parameter.name = expect_name();
      if (has_annotations && accept(":")) expression();
      if (accept("=")) parameter.otherwise = expression();
      list.push_back(std::move(parameter));
      if (!accept(",")) break;
    }
    return list;
  }

  NodePtr alternatives() { return chain("or", &Parser::conjunctions); }
  NodePtr conjunctions() { return chain("and", &Parser::negation); }

  NodePtr chain(std::string_view word, NodePtr (Parser::*operand)()) {
    const Token& first = peek();
    NodePtr left = (this->*operand)();
    while (accept_word(word)) {
      auto node = make(Kind::boolean, first, std::string(word));
      node->nodes = {std::move(left), (this->*operand)()};
      left = closed(std::move(node));
    }
    return left;
  }

  NodePtr negation() {
    const Nesting nesting(*this);
    const Token& first = peek();
    if (!accept_word("not")) return comparison();
    auto node = make(Kind::unary, first, "not");
    node->nodes.push_back(negation());
    return closed(node);
  }

  // Takes an operator of comparison; empty if there is none.
  std::string comparator() {
    for (const std::string_view operation : comparisons)
      if (accept(operation)) return std::string(operation);
    if (is_word("not") && is_word("in", 1)) {
      take();
      take();
      return "not in";
    }
    if (accept_word("in")) return "in";
    if (!accept_word("is")) return "";
    return accept_word("not") ? "is not" : "is";
  }

  NodePtr comparison() {
    const Token& first = peek();
    NodePtr left = binary(0);
    std::string operation = comparator();
    if (operation.empty()) return left;
    auto node = make(Kind::compare, first);
    node->nodes.push_back(std::move(left));
    for (; !operation.empty(); operation = comparator()) {
      node->words.push_back(std::move(operation));
      node->nodes.push_back(binary(0));
    }
    return closed(node);
  }

  NodePtr binary(std::size_t level) {
    if (level == levels.size()) return unary();
    const Token& first = peek();
    NodePtr left = binary(level + 1);
    const auto is_of_level = [&] {
      return peek().kind == TokenKind::operation && !peek().text.empty() &&
             std::ranges::find(levels[level].operators, std::string_view(peek().text)) !=
                 levels[level].operators.end();
    };
    while (is_of_level()) {
      auto node = make(Kind::binary, first, take().text);
      node->nodes = {std::move(left), binary(level + 1)};
      left = closed(std::move(node));
    }
    return left;
  }

  NodePtr unary() {
    const Nesting nesting(*this);
    const Token& first = peek();
    for (const std::string_view operation : {"-", "+", "~"})
      if (accept(operation)) {
        auto node = make(Kind::unary, first, std::string(operation));
        node->nodes.push_back(unary());
        return closed(node);
      }
    NodePtr base = postfix();
    if (!accept("**")) return base;
    auto node = make(Kind::binary, first, "**");
    node->nodes = {std::move(base), unary()};
    return closed(node);
  }

  NodePtr postfix() {
    const Token& first = peek();
    NodePtr value = atom();
    while (true) {
      std::shared_ptr<Node> node;
      if (accept(".")) {
        node = make(Kind::attribute, first, expect_name());
        node->nodes.push_back(std::move(value));
      } else if (accept("(")) {
        node = make(Kind::call, first);
        node->nodes.push_back(std::move(value));
        for (NodePtr& argument : arguments()) node->nodes.push_back(std::move(argument));
      } else if (accept("[")) {
        node = make(Kind::subscript, first);
        node->nodes.push_back(std::move(value));
        node->nodes.push_back(index());
        expect("]");
      } else {
        return value;
      }
      value = closed(std::move(node));
    }
  }

  // Arguments of a call, with the closing parenthesis.
  std::vector<NodePtr> arguments() {
    std::vector<NodePtr> list;
    while (!is(")")) {
      const Token& first = peek();
      if (accept("**")) {
        auto node = make(Kind::double_star, first);
        node->nodes.push_back(expression());
        list.push_back(closed(node));
      } else if (accept("*")) {
        list.push_back(starred());
      } else {
        auto node = make(Kind::argument, first);
        if (first.kind == TokenKind::name && peek(1).kind == TokenKind::operation &&
            peek(1).text == "=") {
          node->text = first.text;
          take();
          take();
        }
        NodePtr value = named_expression();
        if (is_word("for") || is_word("async"))
          value = comprehension("generator", first, {std::move(value)});
        node->nodes.push_back(std::move(value));
        list.push_back(closed(node));
      }
      if (!accept(",")) break;
    }
    expect(")");
    return list;
  }

  // Index of a subscript: an expression, a slice, or a tuple of both.
  NodePtr index() {
    const Token& first = peek();
    NodePtr part = index_part();
    if (!is(",")) return part;
    auto node = make(Kind::tuple, first);
    node->nodes.push_back(std::move(part));
    while (accept(","))
      if (!is("]")) node->nodes.push_back(index_part());
    return closed(node);
  }

  NodePtr index_part() {
    const Token& first = peek();
    std::vector<NodePtr> parts;
    const auto add_part = [&] {
      parts.push_back(is(":") || is("]") || is(",") ? nullptr : item());
    };
    add_part();
    if (!is(":")) {
      if (parts.front() == nullptr) fail("expected an index");
      return parts.front();
    }
    while (accept(":")) add_part();
    auto node = make(Kind::slice, first);
    node->nodes = std::move(parts);
    node->nodes.resize(3);
    return closed(node);
  }

  NodePtr comprehension(std::string kind, const Token& first, std::vector<NodePtr> values) {
    auto node = make(Kind::comprehension, first, std::move(kind));
    node->nodes = std::move(values);
    while (is_word("for")) {
      auto clause = make(Kind::clause, take());
      clause->nodes.push_back(targets());
      if (!accept_word("in")) fail("expected 'in'");
      clause->nodes.push_back(alternatives());
      while (accept_word("if")) clause->nodes.push_back(alternatives());
      node->nodes.push_back(closed(clause));
    }
    return closed(node);
  }

  NodePtr atom() {
    const Nesting nesting(*this);
    const Token& token = peek();
    switch (token.kind) {
      case TokenKind::number:
        return closed(make(Kind::number, take(), token.text));
      case TokenKind::text:
      case TokenKind::formatted:
        return strings();
      case TokenKind::name: {
        const bool is_constant =
            token.text == "True" || token.text == "False" || token.text == "None";
        return closed(make(is_constant ? Kind::constant : Kind::name, take(), token.text));
      }
      case TokenKind::operation:
        if (accept("(")) return grouped(token);
        if (accept("[")) return list(token);
        if (accept("{")) return braces(token);
        if (accept("...")) return closed(make(Kind::constant, token, "..."));
        break;
      default:
        break;
    }
    fail("expected an expression");
  }

  NodePtr grouped(const Token& first) {
    if (accept(")")) return closed(make(Kind::tuple, first));
    NodePtr value = expressions();
    if (is_word("for")) value = comprehension("generator", first, {std::move(value)});
    expect(")");
    return value;
  }

  NodePtr list(const Token& first) {
    auto node = make(Kind::list, first);
    while (!is("]")) {
      NodePtr value = item();
      if (is_word("for")) {
        NodePtr made = comprehension("list", first, {std::move(value)});
        expect("]");
        return made;
      }
      node->nodes.push_back(std::move(value));
      if (!accept(",")) break;
    }
    expect("]");
    return closed(node);
  }

  NodePtr braces(const Token& first) {
    auto node = make(Kind::dictionary, first);
    while (!is("}")) {
      if (accept("**")) {
        auto spread = make(Kind::double_star, first);
        spread->nodes.push_back(binary(0));
        node->nodes.push_back(nullptr);
        node->nodes.push_back(closed(spread));
      } else {
        NodePtr key = item();
        if (accept(":")) {
          NodePtr value = expression();
          if (is_word("for")) {
            NodePtr made = comprehension("dictionary", first, {std::move(key), std::move(value)});
            expect("}");
            return made;
          }
          node->nodes.push_back(std::move(key));
          node->nodes.push_back(std::move(value));
        } else {
          node->kind = Kind::set;
          if (is_word("for")) {
            NodePtr made = comprehension("set", first, {std::move(key)});
            expect("}");
            return made;
          }
          node->nodes.push_back(std::move(key));
        }
      }
      if (!accept(",")) break;
    }
    expect("}");
    return closed(node);
  }

  // Adjacent strings, which are one.
  NodePtr strings() {
    auto node = make(Kind::formatted, peek());
    bool is_plain = true;
    while (peek().kind == TokenKind::text || peek().kind == TokenKind::formatted) {
      const Token& token = take();
      if (token.kind == TokenKind::text) {
        node->nodes.push_back(make(Kind::text, token, token.text));
      } else {
        is_plain = false;
        add_parts(token, *node);
      }
    }
    if (!is_plain) return closed(node);
    auto text = make(Kind::text, peek());
    text->line = node->line;
    text->begin = node->begin;
    for (const NodePtr& part : node->nodes) text->text += part->text;
    return closed(text);
  }

  // Adds the texts and the expressions of an f-string.
  void add_parts(const Token& token, Node& node) {
    const std::string_view text = token.text;
    std::string plain;
    const auto end_plain = [&] {
      if (!plain.empty()) node.nodes.push_back(make(Kind::text, token, plain));
      plain.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_doubled = i + 1 < text.size() && text[i + 1] == text[i];
      if ((text[i] == '{' || text[i] == '}') && is_doubled) {
        plain += text[i++];
        continue;
      }
      if (text[i] != '{') {
        plain += text[i];
        continue;
      }
      end_plain();
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos) fail("an f-string lacks '}'");
      const std::string_view inside = text.substr(i + 1, end - i - 1);
      node.nodes.push_back(
          Parser(tokens_of(inside, source_, token.line, true), source_, depth_).lone_expression());
      i = end;
    }
    end_plain();
  }

  std::vector<Token> tokens_;
  const std::string& source_;
  int depth_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<NodePtr> parse(std::string_view text, const std::string& source) {
  return Parser(tokens_of(text, source), source).module();
}

}  // namespace pipewright::jobs::python
