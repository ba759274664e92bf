#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"
#include "sim/jobs/python/syntax.hpp"
#include "sim/jobs/python/tokens.hpp"

namespace pipewright::jobs::python {

using TokenKind = Token::Kind;

inline std::shared_ptr<Node> make_node(Node::Kind kind, const Token& at, std::string text = {}) {
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->text = std::move(text);
  node->line = at.line;
  node->begin = at.begin;
  node->end = at.end;
  return node;
}

// Reads the tokens of a source in order, and makes errors with the location of the next token.
class TokenCursor {
 protected:
  // `depth` is the number of expressions and blocks around the text.
  TokenCursor(std::vector<Token> tokens, const std::string& source, int depth)
      : tokens_(std::move(tokens)), source_(source), depth_(depth) {}

  // Counts the nesting of expressions and blocks, which is limited.
  struct Nesting {
    explicit Nesting(TokenCursor& cursor) : cursor(cursor) {
      constexpr int deepest = 200;
      if (++cursor.depth_ > deepest) cursor.fail("the nesting is too deep");
    }
    ~Nesting() { --cursor.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    TokenCursor& cursor;
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

  const std::string& source() const { return source_; }
  int depth() const { return depth_; }

 private:
  std::vector<Token> tokens_;
  const std::string& source_;
  int depth_;
  std::size_t at_ = 0;
};

}  // namespace pipewright::jobs::python
