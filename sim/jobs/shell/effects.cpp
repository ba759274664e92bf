#include <algorithm>
#include <array>

#include "sim/jobs/shell/evaluator.hpp"

namespace pipewright::jobs {
namespace {

template <class Visit>
void visit_nodes(const Node& node, const Visit& visit) {
  visit(node);
  for (const NodePtr& child : node.children) visit_nodes(*child, visit);
  for (const CaseBranch& branch : node.branches) visit_nodes(*branch.body, visit);
}

// Programs whose effects are files, messages and services, not words of other commands.
bool is_harmless(std::string_view name) {
  static constexpr std::array<std::string_view, 44> names{
      "echo",       "printf",   "mkdir", "rm",   "cp",         "mv",      "touch",  "chmod",
      "ls",         "cat",      "tee",   "wget", "curl",       "pip",     "pip3",   "git",
      "sleep",      "true",     ":",     "kill", "wait",       "export",  "unzip",  "tar",
      "nvidia-smi", "date",     "ln",    "apt",  "apt-get",    "conda",   "module", "ulimit",
      "hostname",   "which",    "false", "ping", "ssh-keygen", "service", "test",   "[",
      "break",      "continue", "usage", "exit"};
  return std::ranges::find(names, name) != names.end();
}

bool matters(const Node& node) {
  if (node.kind == Node::Kind::for_words || node.kind == Node::Kind::function) return false;
  if (node.kind == Node::Kind::arithmetic) return true;
  if (node.kind != Node::Kind::simple) return false;
  bool has_words = false;
  for (const Part& part : node.parts) {
    if (part.assignment) return true;
    if (!has_words && part.word.raw != "exit" && !is_harmless(part.word.raw)) return true;
    has_words = true;
  }
  return false;
}

}  // namespace

void add_written(const Node& node, std::set<std::string, std::less<>>& names) {
  visit_nodes(node, [&](const Node& inner) {
    if (inner.kind == Node::Kind::for_words) names.insert(inner.name);
    for (const Part& part : inner.parts)
      if (part.assignment) names.insert(part.assignment->name);
    if (inner.parts.empty()) return;
    const std::string& first = inner.parts.front().word.raw;
    if (first != "read" && first != "mapfile" && first != "readarray" && first != "local" &&
        first != "declare" && first != "printf")
      return;
    for (const Part& part : inner.parts)
      if (is_variable_name(part.word.raw)) names.insert(part.word.raw);
  });
}

bool may_matter(const Node& node) {
  bool found = false;
  visit_nodes(node, [&](const Node& inner) { found = found || matters(inner); });
  return found;
}

}  // namespace pipewright::jobs
