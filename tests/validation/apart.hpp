#pragma once

#include <cstdio>
#include <exception>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pipewright::accuracy {

// Runs `body` in a process of its own, since SimGrid has one platform a process, and returns
// whether it returned true. What it throws is printed.
template <class Body>
bool apart(const Body& body) {
  std::fflush(nullptr);
  const pid_t id = ::fork();
  if (id < 0) throw std::runtime_error("no process can be had");
  if (id > 0) {
    int status = 0;
    ::waitpid(id, &status, 0);
    return status == 0;
  }
  int status = 1;
  try {
    status = body() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  std::fflush(nullptr);
  ::_exit(status);
}

}  // namespace pipewright::accuracy
