#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/jobs/shell/evaluator.hpp"

namespace pipewright::jobs {

// Input and output of a command by its redirections, while the command runs.
class Evaluator::Redirected {
 public:
  Redirected(Evaluator& evaluator, const Node& node);
  ~Redirected();
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  void open(const Redirection& redirection);
  void open_input(const RawWord& target);
  void close_output();

  Evaluator& evaluator_;
  Stream* input_;
  std::string* output_;
  Stream own_input_;
  std::string sink_;
  std::optional<std::string> path_;  // file that the output goes to
  bool appends_ = false;
};

// A subshell: what it does to variables, functions and arguments is undone at its end.
class Evaluator::Inner {
 public:
  explicit Inner(Evaluator& evaluator);
  ~Inner();
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

 private:
  Evaluator& evaluator_;
  std::map<std::string, Variable> variables_;
  std::map<std::string, std::shared_ptr<const Node>> functions_;
  std::vector<Word> arguments_;
  std::optional<std::string> folder_;
};

}  // namespace pipewright::jobs
