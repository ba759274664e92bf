#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/jobs/python/token_cursor.hpp"

namespace pipewright::jobs::python {

// Parses expressions of Python by recursive descent, one function for each rule of the grammar.
class ExpressionParser : protected TokenCursor {
 public:
  ExpressionParser(std::vector<Token> tokens, const std::string& source, int depth = 0)
      : TokenCursor(std::move(tokens), source, depth) {}

  // One expression, or several with commas between them, which are a tuple.
  NodePtr expressions();

 protected:
  // Targets of a loop or of `with`: names, attributes and tuples of them, without comparisons.
  NodePtr targets();
  NodePtr named_expression();
  NodePtr expression();
  // Parameters of a function, up to the token `end`.
  std::vector<Node::Parameter> parameters(std::string_view end, bool has_annotations);
  // Arguments of a call, with the closing parenthesis.
  std::vector<NodePtr> arguments();

 private:
  NodePtr starred();
  NodePtr item();
  // Returns whether an expression may begin at the next token.
  bool begins_expression() const;
  // Generators are not run: what they yield is unknown.
  NodePtr yield();
  NodePtr lambda();
  NodePtr alternatives();
  NodePtr conjunctions();
  // Operands of `word`, "and" or "or", with that word between them.
  NodePtr chain(std::string_view word, NodePtr (ExpressionParser::*operand)());
  NodePtr negation();
  // Takes an operator of comparison; empty if there is none.
  std::string comparator();
  NodePtr comparison();
  NodePtr binary(std::size_t level);
  NodePtr unary();
  NodePtr postfix();
  // Index of a subscript: an expression, a slice, or a tuple of both.
  NodePtr index();
  NodePtr index_part();
  NodePtr comprehension(std::string kind, const Token& first, std::vector<NodePtr> values);
  NodePtr atom();
  NodePtr grouped(const Token& first);
  NodePtr list(const Token& first);
  NodePtr braces(const Token& first);
  // Adjacent strings, which are one.
  NodePtr strings();
  // Adds the texts and the expressions of an f-string.
  void add_parts(const Token& token, Node& node);
};

}  // namespace pipewright::jobs::python
