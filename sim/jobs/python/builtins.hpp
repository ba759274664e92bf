#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/jobs/python/interpreter.hpp"

namespace pipewright::jobs::python {

// Exception that a configuration raises.
struct Raised {
  std::string type;  // "ValueError"
  std::string text;  // "ValueError: Unknown compute_dtype: fp2"
  config::Origin origin;
};

// Calls a built-in function of Python, or one of its standard library, by its full name, such as
// "len" or "copy.deepcopy". None if there is no such function here.
std::optional<Value> call_builtin(Interpreter& interpreter, std::string_view name,
                                  const Arguments& arguments, const std::string& written,
                                  const config::Origin& origin);

}  // namespace pipewright::jobs::python
