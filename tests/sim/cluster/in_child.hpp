#pragma once

#include <functional>
#include <string>

namespace pipewright::tests {

// Runs `body` in a process of its own, since SimGrid can load only one platform per process.
// Returns its result.
std::string in_child(const std::function<std::string()>& body);

}  // namespace pipewright::tests
