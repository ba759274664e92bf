#pragma once

#include <memory>
#include <string>
#include <utility>

#include "sim/jobs/python/builtins.hpp"
#include "sim/jobs/python/interpreter.hpp"
#include "sim/jobs/python/methods.hpp"
#include "sim/jobs/python/operators.hpp"

// State of the interpreter that blocks of its sources change and restore.
namespace pipewright::jobs::python {

struct Interpreter::Depth {
  explicit Depth(int& depth) : depth(depth) { ++depth; }
  ~Depth() { --depth; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;
  int& depth;
};

// Runs what follows below a condition that is not known.
struct Interpreter::Uncertain {
  Uncertain(Interpreter& interpreter, std::string condition) : interpreter(interpreter) {
    interpreter.conditions_.push_back(std::move(condition));
  }
  ~Uncertain() { interpreter.conditions_.pop_back(); }
  Uncertain(const Uncertain&) = delete;
  Uncertain& operator=(const Uncertain&) = delete;
  Interpreter& interpreter;
};

// Runs what follows with the names of another frame.
struct Interpreter::FrameChange {
  FrameChange(Interpreter& interpreter, std::shared_ptr<Frame> frame)
      : interpreter(interpreter), before(std::exchange(interpreter.frame_, std::move(frame))) {}
  ~FrameChange() { interpreter.frame_ = std::move(before); }
  FrameChange(const FrameChange&) = delete;
  FrameChange& operator=(const FrameChange&) = delete;
  Interpreter& interpreter;
  std::shared_ptr<Frame> before;
};

}  // namespace pipewright::jobs::python
