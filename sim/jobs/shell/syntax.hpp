#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Syntax tree of a script. Words stay as written, with their quotes; they are expanded when the
// command runs.
namespace pipewright::jobs {

struct Node;

struct RawWord {
  std::string raw;
  int line = 1;
  bool is_operator = false;  // && || ! ( ) within [[ ]]
};

// NAME=value, NAME+=value, NAME[index]=value or NAME=(items).
struct Assignment {
  std::string name;
  std::optional<std::string> index;
  bool appends = false;
  bool is_array = false;
  RawWord value = {};
  std::vector<RawWord> items = {};
};

// Part of a simple command: a word or an assignment, in the order written.
struct Part {
  RawWord word;
  std::optional<Assignment> assignment;
};

struct Redirection {
  std::string sign;         // "<", ">", ">>", "<<", "<<<", "&>", ...
  int descriptor = -1;      // -1: the sign's own
  RawWord target;           // for "<<": the text of the here-document
  bool is_literal = false;  // here-document whose mark is quoted
};

struct CaseBranch {
  std::vector<RawWord> patterns;
  std::shared_ptr<const Node> body;
  std::string end;  // ";;", ";&" or ";;&"
};

// Command of a script.
struct Node {
  enum class Kind : std::uint8_t {
    simple,         // parts
    pipeline,       // children, joined by |
    list,           // children, each followed by the sign of the same index: ; & && ||
    branch,         // if: pairs of condition and body, and the body of else
    for_words,      // for `name` in words
    for_numbers,    // for ((words[0]; words[1]; words[2]))
    loop,           // while, or until if `negated`: condition and body
    choice,         // case words[0]: branches
    group,          // { children[0] }
    subshell,       // ( children[0] )
    function,       // `name` with body children[0]
    test,           // [[ words ]]
    arithmetic,     // (( words[0] ))
    not_supported,  // `name` of a construct that is not followed
  };
  Kind kind = Kind::simple;
  int line = 1;
  bool negated = false;
  bool over_arguments = false;  // for NAME without `in`
  std::string name = {};
  std::vector<Part> parts = {};
  std::vector<RawWord> words = {};
  std::vector<std::shared_ptr<const Node>> children = {};
  std::vector<std::string> signs = {};
  std::vector<CaseBranch> branches = {};
  std::vector<Redirection> redirections = {};
};

using NodePtr = std::shared_ptr<const Node>;

}  // namespace pipewright::jobs
