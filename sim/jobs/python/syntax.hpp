#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::jobs::python {

// Node of the syntax tree: a statement or an expression.
struct Node {
  enum class Kind : std::uint8_t {
    // Expressions; `nodes` has the operands in the order in which they are written.
    number,
    text,
    formatted,  // parts of an f-string: texts and expressions
    name,
    constant,     // True, False, None, ..., or what a generator yields
    attribute,    // nodes[0].text
    subscript,    // nodes[0][nodes[1]]
    slice,        // begin, end and step; absent parts are null
    call,         // the called expression and its arguments
    argument,     // text = nodes[0]; `text` is empty for a positional argument
    star,         // *nodes[0]
    double_star,  // **nodes[0]
    list,
    tuple,
    set,
    dictionary,     // key, value, key, value, ..; a key is null before a double_star
    unary,          // text nodes[0]
    binary,         // nodes[0] text nodes[1]
    boolean,        // nodes[0] text nodes[1], with `and` or `or`
    compare,        // nodes[0] words[0] nodes[1] words[1] nodes[2] ..
    conditional,    // nodes[0] if nodes[1] else nodes[2]
    lambda,         // parameters; nodes[0] is the result
    comprehension,  // text names the kind; nodes: value, and a key of dictionaries, then clauses
    clause,         // for nodes[0] in nodes[1], with conditions in the further nodes
    walrus,         // text := nodes[0]
    // Statements
    expression,
    assign,     // targets, and the value at the end
    annotated,  // target, and the value if there is one
    augmented,  // nodes[0] text nodes[1], with an operator such as +=
    branch,     // if nodes[0]: body, else: otherwise
    loop_for,   // for nodes[0] in nodes[1]: body
    loop_while,
    define,     // def text(parameters): body; nodes are the decorators
    type,       // class text(nodes): body
    give_back,  // return nodes[0]
    raise,
    import,       // words: module, name, module, name, ..
    import_from,  // text: module with its leading dots; words: name, own name, ..
    attempt,      // try: body, except: handlers in nodes, else: otherwise, finally: last
    handler,      // except nodes[0] as text: body
    with,         // with nodes: body
    assertion,
    remove,  // del nodes
    pass,    // also global, nonlocal and type aliases
    leave,   // break
    next,    // continue
  };

  // Parameter of a function: name, and default value (null if there is none).
  struct Parameter {
    enum class Kind : std::uint8_t { usual, rest, keywords, keyword_only };
    std::string name;
    std::shared_ptr<const Node> otherwise;
    Kind kind = Kind::usual;
  };

  Kind kind = Kind::pass;
  std::string text;
  int line = 0;
  std::size_t begin = 0;  // offsets in the source
  std::size_t end = 0;
  std::vector<std::shared_ptr<const Node>> nodes;
  std::vector<std::shared_ptr<const Node>> body;
  std::vector<std::shared_ptr<const Node>> otherwise;
  std::vector<std::shared_ptr<const Node>> last;
  std::vector<Parameter> parameters;
  std::vector<std::string> words;
};
using NodePtr = std::shared_ptr<const Node>;

// Parses a module. Throws config::Error, with `source` as the file, for text that is not Python,
// and for statements that are not read (match, async).
std::vector<NodePtr> parse(std::string_view text, const std::string& source);

}  // namespace pipewright::jobs::python
