#include "sim/jobs/shell/inner.hpp"

#include "sim/jobs/shell/expand.hpp"

namespace pipewright::jobs {

Evaluator::Redirected::Redirected(Evaluator& evaluator, const Node& node)
    : evaluator_(evaluator), input_(evaluator.input_), output_(evaluator.output_) {
  for (const Redirection& redirection : node.redirections) open(redirection);
}

Evaluator::Redirected::~Redirected() {
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
    const std::string& raw = redirection.target.raw;
    if (raw.starts_with("<(") && raw.ends_with(')'))
      own_input_ = {shell.substitute(raw.substr(2, raw.size() - 3), redirection.target.line) +
                    "\n"};
    else
      own_input_ = {unknown("<" + raw)};
    evaluator_.input_ = &own_input_;
  } else if (sign.find('>') != std::string::npos && sign != "<>") {
    const bool errors = redirection.descriptor == 2;
    const bool to_output = redirection.target.raw == "1" && sign == ">&";
    if (!errors && !to_output) evaluator_.output_ = &sink_;
  }
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
