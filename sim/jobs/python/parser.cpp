#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/jobs/python/expression_parser.hpp"

namespace pipewright::jobs::python {
namespace {

using Kind = Node::Kind;

constexpr std::array<std::string_view, 12> augmentations{
    "+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", ">>=", "<<="};

// Parses statements of Python.
class StatementParser : ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  std::vector<NodePtr> module() {
    std::vector<NodePtr> statements;
    while (peek().kind != TokenKind::end) add_statements(statements);
    return statements;
  }

 private:
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
    auto node = make_node(Kind::branch, take());
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
    auto node = make_node(Kind::loop_for, take());
    node->nodes.push_back(targets());
    if (!accept_word("in")) fail("expected 'in'");
    node->nodes.push_back(expressions());
    closed(node);
    node->body = block();
    if (accept_word("else")) node->otherwise = block();
    return node;
  }

  NodePtr loop_while() {
    auto node = make_node(Kind::loop_while, take());
    node->nodes.push_back(named_expression());
    closed(node);
    node->body = block();
    if (accept_word("else")) node->otherwise = block();
    return node;
  }

  NodePtr define(std::vector<NodePtr> decorators) {
    auto node = make_node(Kind::define, take());
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
    auto node = make_node(Kind::type, take());
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
    auto node = make_node(Kind::attempt, take());
    node->body = block();
    while (is_word("except")) {
      auto handler = make_node(Kind::handler, take());
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
    auto node = make_node(Kind::with, take());
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
        auto node = make_node(Kind::remove, take());
        node->nodes.push_back(expressions());
        return closed(node);
      }
      if (first.text == "pass") return closed(make_node(Kind::pass, take()));
      if (first.text == "break") return closed(make_node(Kind::leave, take()));
      if (first.text == "continue") return closed(make_node(Kind::next, take()));
      const bool declares = first.text == "global" || first.text == "nonlocal" ||
                            (first.text == "type" && peek(1).kind == TokenKind::name);
      if (declares) {
        auto node = make_node(Kind::pass, take());
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
    auto node = make_node(Kind::give_back, take());
    if (!ends_simple_statement()) node->nodes.push_back(expressions());
    return closed(node);
  }

  NodePtr raise() {
    auto node = make_node(Kind::raise, take());
    if (!ends_simple_statement()) node->nodes.push_back(expression());
    if (accept_word("from")) expression();
    return closed(node);
  }

  NodePtr assertion() {
    auto node = make_node(Kind::assertion, take());
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
    auto node = make_node(Kind::import, take());
    do {
      std::string name = dotted_name();
      std::string own = accept_word("as") ? expect_name() : std::string();
      node->words.push_back(std::move(name));
      node->words.push_back(std::move(own));
    } while (accept(","));
    return closed(node);
  }

  NodePtr import_from() {
    auto node = make_node(Kind::import_from, take());
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
      auto node = make_node(Kind::annotated, first);
      node->nodes.push_back(std::move(target));
      expression();
      if (accept("=")) node->nodes.push_back(expressions());
      return closed(node);
    }
    for (const std::string_view operation : augmentations)
      if (accept(operation)) {
        auto node = make_node(Kind::augmented, first, std::string(operation));
        node->nodes.push_back(std::move(target));
        node->nodes.push_back(expressions());
        return closed(node);
      }
    if (!is("=")) {
      auto node = make_node(Kind::expression, first);
      node->nodes.push_back(std::move(target));
      return closed(node);
    }
    auto node = make_node(Kind::assign, first);
    node->nodes.push_back(std::move(target));
    while (accept("=")) node->nodes.push_back(expressions());
    return closed(node);
  }
};

}  // namespace

std::vector<NodePtr> parse(std::string_view text, const std::string& source) {
  return StatementParser(tokens_of(text, source), source).module();
}

}  // namespace pipewright::jobs::python
