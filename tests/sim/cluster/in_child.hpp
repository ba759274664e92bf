#pragma once

#include <functional>
#include <string>

namespace pipewright::tests {

// What `body` says in a process of its own, since SimGrid loads one platform a process.
std::string in_child(const std::function<std::string()>& body);

}  // namespace pipewright::tests
