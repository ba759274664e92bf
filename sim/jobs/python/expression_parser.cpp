#include "sim/jobs/python/expression_parser.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace pipewright::jobs::python {
namespace {

using Kind = Node::Kind;

// Operators of two operands, from those that bind weakly to those that bind tightly.
struct Level {
  std::array<std::string_view, 5> operators;
};
constexpr std::array<Level, 6> levels{Level{{"|"}},      Level{{"^"}},
                                      Level{{"&"}},      Level{{"<<", ">>"}},
                                      Level{{"+", "-"}}, Level{{"*", "/", "//", "%", "@"}}};
constexpr std::array<std::string_view, 6> comparisons{"==", "!=", "<", ">", "<=", ">="};

}  // namespace

NodePtr ExpressionParser::targets() {
  const Token& first = peek();
  NodePtr target = accept("*") ? starred() : postfix();
  if (!is(",")) return target;
  auto node = make_node(Kind::tuple, first);
  node->nodes.push_back(std::move(target));
  while (accept(",")) {
    if (is_word("in") || is("=")) break;
    node->nodes.push_back(accept("*") ? starred() : postfix());
  }
  return closed(node);
}

NodePtr ExpressionParser::starred() {
  auto node = make_node(Kind::star, peek());
  node->nodes.push_back(binary(0));
  return closed(node);
}

NodePtr ExpressionParser::item() { return accept("*") ? starred() : named_expression(); }

bool ExpressionParser::begins_expression() const {
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

NodePtr ExpressionParser::expressions() {
  const Token& first = peek();
  NodePtr value = item();
  if (!is(",")) return value;
  auto node = make_node(Kind::tuple, first);
  node->nodes.push_back(std::move(value));
  while (accept(",")) {
    if (!begins_expression()) break;
    node->nodes.push_back(item());
  }
  return closed(node);
}

NodePtr ExpressionParser::named_expression() {
  if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::operation &&
      peek(1).text == ":=") {
    auto node = make_node(Kind::walrus, peek(), peek().text);
    take();
    take();
    node->nodes.push_back(expression());
    return closed(node);
  }
  return expression();
}

NodePtr ExpressionParser::expression() {
  const Nesting nesting(*this);
  const Token& first = peek();
  if (is_word("lambda")) return lambda();
  if (is_word("await")) fail("expressions with await are not read");
  if (is_word("yield")) return yield();
  NodePtr value = alternatives();
  if (!is_word("if")) return value;
  take();
  auto node = make_node(Kind::conditional, first);
  node->nodes.push_back(std::move(value));
  node->nodes.push_back(alternatives());
  if (!accept_word("else")) fail("expected 'else'");
  node->nodes.push_back(expression());
  return closed(node);
}

NodePtr ExpressionParser::yield() {
  auto node = make_node(Kind::constant, take(), "yield");
  accept_word("from");
  if (begins_expression()) expressions();
  return closed(node);
}

NodePtr ExpressionParser::lambda() {
  auto node = make_node(Kind::lambda, take());
  node->parameters = parameters(":", false);
  expect(":");
  node->nodes.push_back(expression());
  return closed(node);
}

std::vector<Node::Parameter> ExpressionParser::parameters(std::string_view end,
                                                          bool has_annotations) {
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

NodePtr ExpressionParser::alternatives() { return chain("or", &ExpressionParser::conjunctions); }
NodePtr ExpressionParser::conjunctions() { return chain("and", &ExpressionParser::negation); }

NodePtr ExpressionParser::chain(std::string_view word, NodePtr (ExpressionParser::*operand)()) {
  const Token& first = peek();
  NodePtr left = (this->*operand)();
  while (accept_word(word)) {
    auto node = make_node(Kind::boolean, first, std::string(word));
    node->nodes = {std::move(left), (this->*operand)()};
    left = closed(std::move(node));
  }
  return left;
}

NodePtr ExpressionParser::negation() {
  const Nesting nesting(*this);
  const Token& first = peek();
  if (!accept_word("not")) return comparison();
  auto node = make_node(Kind::unary, first, "not");
  node->nodes.push_back(negation());
  return closed(node);
}

std::string ExpressionParser::comparator() {
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

NodePtr ExpressionParser::comparison() {
  const Token& first = peek();
  NodePtr left = binary(0);
  std::string operation = comparator();
  if (operation.empty()) return left;
  auto node = make_node(Kind::compare, first);
  node->nodes.push_back(std::move(left));
  for (; !operation.empty(); operation = comparator()) {
    node->words.push_back(std::move(operation));
    node->nodes.push_back(binary(0));
  }
  return closed(node);
}

NodePtr ExpressionParser::binary(std::size_t level) {
  if (level == levels.size()) return unary();
  const Token& first = peek();
  NodePtr left = binary(level + 1);
  const auto is_of_level = [&] {
    return peek().kind == TokenKind::operation && !peek().text.empty() &&
           std::ranges::find(levels[level].operators, std::string_view(peek().text)) !=
               levels[level].operators.end();
  };
  while (is_of_level()) {
    auto node = make_node(Kind::binary, first, take().text);
    node->nodes = {std::move(left), binary(level + 1)};
    left = closed(std::move(node));
  }
  return left;
}

NodePtr ExpressionParser::unary() {
  const Nesting nesting(*this);
  const Token& first = peek();
  for (const std::string_view operation : {"-", "+", "~"})
    if (accept(operation)) {
      auto node = make_node(Kind::unary, first, std::string(operation));
      node->nodes.push_back(unary());
      return closed(node);
    }
  NodePtr base = postfix();
  if (!accept("**")) return base;
  auto node = make_node(Kind::binary, first, "**");
  node->nodes = {std::move(base), unary()};
  return closed(node);
}

NodePtr ExpressionParser::postfix() {
  const Token& first = peek();
  NodePtr value = atom();
  while (true) {
    std::shared_ptr<Node> node;
    if (accept(".")) {
      node = make_node(Kind::attribute, first, expect_name());
      node->nodes.push_back(std::move(value));
    } else if (accept("(")) {
      node = make_node(Kind::call, first);
      node->nodes.push_back(std::move(value));
      for (NodePtr& argument : arguments()) node->nodes.push_back(std::move(argument));
    } else if (accept("[")) {
      node = make_node(Kind::subscript, first);
      node->nodes.push_back(std::move(value));
      node->nodes.push_back(index());
      expect("]");
    } else {
      return value;
    }
    value = closed(std::move(node));
  }
}

std::vector<NodePtr> ExpressionParser::arguments() {
  std::vector<NodePtr> list;
  while (!is(")")) {
    const Token& first = peek();
    if (accept("**")) {
      auto node = make_node(Kind::double_star, first);
      node->nodes.push_back(expression());
      list.push_back(closed(node));
    } else if (accept("*")) {
      list.push_back(starred());
    } else {
      auto node = make_node(Kind::argument, first);
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

NodePtr ExpressionParser::index() {
  const Token& first = peek();
  NodePtr part = index_part();
  if (!is(",")) return part;
  auto node = make_node(Kind::tuple, first);
  node->nodes.push_back(std::move(part));
  while (accept(","))
    if (!is("]")) node->nodes.push_back(index_part());
  return closed(node);
}

NodePtr ExpressionParser::index_part() {
  const Token& first = peek();
  std::vector<NodePtr> parts;
  const auto add_part = [&] { parts.push_back(is(":") || is("]") || is(",") ? nullptr : item()); };
  add_part();
  if (!is(":")) {
    if (parts.front() == nullptr) fail("expected an index");
    return parts.front();
  }
  while (accept(":")) add_part();
  auto node = make_node(Kind::slice, first);
  node->nodes = std::move(parts);
  node->nodes.resize(3);
  return closed(node);
}

NodePtr ExpressionParser::comprehension(std::string kind, const Token& first,
                                        std::vector<NodePtr> values) {
  auto node = make_node(Kind::comprehension, first, std::move(kind));
  node->nodes = std::move(values);
  while (is_word("for")) {
    auto clause = make_node(Kind::clause, take());
    clause->nodes.push_back(targets());
    if (!accept_word("in")) fail("expected 'in'");
    clause->nodes.push_back(alternatives());
    while (accept_word("if")) clause->nodes.push_back(alternatives());
    node->nodes.push_back(closed(clause));
  }
  return closed(node);
}

NodePtr ExpressionParser::atom() {
  const Nesting nesting(*this);
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::number:
      return closed(make_node(Kind::number, take(), token.text));
    case TokenKind::text:
    case TokenKind::formatted:
      return strings();
    case TokenKind::name: {
      const bool is_constant =
          token.text == "True" || token.text == "False" || token.text == "None";
      return closed(make_node(is_constant ? Kind::constant : Kind::name, take(), token.text));
    }
    case TokenKind::operation:
      if (accept("(")) return grouped(token);
      if (accept("[")) return list(token);
      if (accept("{")) return braces(token);
      if (accept("...")) return closed(make_node(Kind::constant, token, "..."));
      break;
    default:
      break;
  }
  fail("expected an expression");
}

NodePtr ExpressionParser::grouped(const Token& first) {
  if (accept(")")) return closed(make_node(Kind::tuple, first));
  NodePtr value = expressions();
  if (is_word("for")) value = comprehension("generator", first, {std::move(value)});
  expect(")");
  return value;
}

NodePtr ExpressionParser::list(const Token& first) {
  auto node = make_node(Kind::list, first);
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

NodePtr ExpressionParser::braces(const Token& first) {
  auto node = make_node(Kind::dictionary, first);
  while (!is("}")) {
    if (accept("**")) {
      auto spread = make_node(Kind::double_star, first);
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

NodePtr ExpressionParser::strings() {
  auto node = make_node(Kind::formatted, peek());
  bool is_plain = true;
  while (peek().kind == TokenKind::text || peek().kind == TokenKind::formatted) {
    const Token& token = take();
    if (token.kind == TokenKind::text) {
      node->nodes.push_back(make_node(Kind::text, token, token.text));
    } else {
      is_plain = false;
      add_parts(token, *node);
    }
  }
  if (!is_plain) return closed(node);
  auto text = make_node(Kind::text, peek());
  text->line = node->line;
  text->begin = node->begin;
  for (const NodePtr& part : node->nodes) text->text += part->text;
  return closed(text);
}

void ExpressionParser::add_parts(const Token& token, Node& node) {
  const std::string_view text = token.text;
  std::string plain;
  const auto end_plain = [&] {
    if (!plain.empty()) node.nodes.push_back(make_node(Kind::text, token, plain));
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
    // What follows the expression, such as the format .2f, is not read.
    const std::string_view inside = text.substr(i + 1, end - i - 1);
    node.nodes.push_back(
        ExpressionParser(tokens_of(inside, source(), token.line, true), source(), depth())
            .expressions());
    i = end;
  }
  end_plain();
}

}  // namespace pipewright::jobs::python
