#include "tests/sim/cluster/in_child.hpp"

#include <array>
#include <cstdlib>
#include <exception>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

namespace pipewright::tests {

std::string in_child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::string text;
    try {
      text = body();
    } catch (const std::exception& error) {
      text = std::string("exception: ") + error.what();
    }
    const bool is_complete = write(ends[1], text.data(), text.size()) == std::ssize(text);
    std::_Exit(is_complete ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  return text;
}

}  // namespace pipewright::tests
