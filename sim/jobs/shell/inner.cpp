#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/expand.hpp"

namespace pipewright::jobs {

Evaluator::Redirected::Redirected(Evaluator& evaluator, const Node& node)
    : evaluator_(evaluator), input_(evaluator.input_), output_(evaluator.output_) {
  for (const Redirection& redirection : node.redirections) open(redirection);
}

Evaluator::Redirected::~Redirected() {
  close_output();
  evaluator_.input_ = input_;
  evaluator_.output_ = output_;
}

void Evaluator::Redirected::open(const Redirection& redirection) {
  Shell& shell = evaluator_.shell_;
  const std::string& sign = redirection.sign;
  if (sign == "<<") {
    constexpr std::size_t max_documents = 100;
    const RawWord& target = redirection.target;
    own_input_ = {redirection.is_literal ? target.raw : expand_document(target, shell)};
    if (shell.script.documents.size() < max_documents)
      shell.script.documents.push_back(
          {own_input_.text, {.source = shell.file, .line = target.line, .column = 1}});
    evaluator_.input_ = &own_input_;
  } else if (sign == "<<<") {
    own_input_ = {expand_plainly(redirection.target, shell) + "\n"};
    evaluator_.input_ = &own_input_;
  } else if (sign == "<") {
    open_input(redirection.target);
  } else if (sign.find('>') != std::string::npos && sign != "<>") {
    const bool errors = redirection.descriptor == 2;
    const bool is_copy = sign == ">&";
    if (errors || (is_copy && redirection.target.raw == "1")) return;
    evaluator_.output_ = &sink_;
    if (is_copy) return;
    path_ = shell.path_of(expand_plainly(redirection.target, shell));
    appends_ = sign.ends_with(">>");
  }
}

void Evaluator::Redirected::open_input(const RawWord& target) {
  Shell& shell = evaluator_.shell_;
  if (target.raw.starts_with("<(") && target.raw.ends_with(')')) {
    own_input_ = {shell.substitute(target.raw.substr(2, target.raw.size() - 3), target.line) +
                  "\n"};
  } else {
    const auto path = shell.path_of(expand_plainly(target, shell));
    const auto it = path ? shell.files.find(*path) : shell.files.end();
    own_input_ = {it == shell.files.end() ? unknown("<" + target.raw) : it->second};
  }
  evaluator_.input_ = &own_input_;
}

// Keeps what the command has written to a file, for commands that read or run the file.
void Evaluator::Redirected::close_output() {
  constexpr std::size_t max_files_kept = 100;
  std::map<std::string, std::string>& files = evaluator_.shell_.files;
  if (!path_ || *path_ == "/dev/null" || sink_.empty() || files.size() > max_files_kept) return;
  files[*path_] = (appends_ ? files[*path_] : "") + sink_;
}

Evaluator::Inner::Inner(Evaluator& evaluator)
    : evaluator_(evaluator),
      variables_(evaluator.shell_.script.variables),
      functions_(evaluator.shell_.script.functions),
      arguments_(evaluator.shell_.arguments),
      folder_(evaluator.shell_.folder) {
  evaluator.shell_.charge(1 + variables_.size() / 4);
  for (const auto& [name, variable] : variables_)
    evaluator.shell_.charge(variable.words.size() / 4);
  ++evaluator.inner_;
}

Evaluator::Inner::~Inner() {
  --evaluator_.inner_;
  evaluator_.shell_.script.variables = std::move(variables_);
  evaluator_.shell_.script.functions = std::move(functions_);
  evaluator_.shell_.arguments = std::move(arguments_);
  evaluator_.shell_.folder = std::move(folder_);
  evaluator_.flow_ = Flow::normal;
}

}  // namespace pipewright::jobs
