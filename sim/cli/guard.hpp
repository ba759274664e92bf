#pragma once

#include <functional>

namespace pipewright::cli {

// The one catch of a program: runs `body` and returns its exit status, or says on standard error
// what it threw, as `program: message`, and returns the status for that.
int guarded(const char* program, const std::function<int()>& body);

}  // namespace pipewright::cli
