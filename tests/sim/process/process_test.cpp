#include "sim/process/process.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/process/run.hpp"

using namespace pipewright;
using process::Channel;
using process::Process;

namespace {

std::string wait_for_message(Process& child) {
  const std::array<Process*, 1> waiting{&child};
  for (;;) {
    if (std::optional<std::string> message = child.next_message()) return *message;
    REQUIRE_FALSE(child.is_over());
    process::wait_for(waiting, 1);
  }
}

void wait_for_end(Process& child) {
  const std::array<Process*, 1> waiting{&child};
  while (!child.is_over()) process::wait_for(waiting, 1);
}

}  // namespace

TEST_CASE("a child answers its parent message by message", "[process]") {
  Process child([](Channel& parent) {
    while (const std::optional<std::string> message = parent.receive()) parent.send(*message + "!");
  });
  child.send("[1]");
  CHECK(wait_for_message(child) == "[1]!");
  const std::string long_message(2'000'000, 'x');
  child.send(long_message);
  child.send("[2]");
  CHECK((wait_for_message(child) == long_message + "!"));
  CHECK(wait_for_message(child) == "[2]!");
  CHECK(child.end() == 0);  // it ends as its messages are closed
}

TEST_CASE("the standard error of a child is stored on request", "[process]") {
  Process child(
      [](Channel&) {
        if (write(STDERR_FILENO, "no luck\n", 8) != 8) return;
        std::raise(SIGKILL);
      },
      Process::Errors::store);
  wait_for_end(child);
  CHECK(process::describe_end(child.end()) == "ended with signal 9 (Killed)");
  CHECK(child.errors() == "no luck\n");
}

TEST_CASE("a body returns its message or the reason of its failure", "[process]") {
  const auto failure = [](const process::Body& body) {
    const process::Result result = process::run(body);
    CHECK(result.failed);
    return result.text;
  };
  const process::Result success = process::run([] { return std::string("[1,2]"); });
  CHECK_FALSE(success.failed);
  CHECK(success.text == "[1,2]");
  CHECK(failure([]() -> std::string { throw std::runtime_error("two\nlines"); }) == "two\nlines");
  CHECK(failure([]() -> std::string { throw std::runtime_error("byte \xff"); }) ==
        "byte \xef\xbf\xbd");
  CHECK(failure([]() -> std::string { throw std::bad_alloc(); }) == "not enough memory");
  CHECK(failure([]() -> std::string { std::_Exit(3); }) == "its process ended with status 3");
  CHECK(failure([]() -> std::string {
          std::raise(SIGKILL);
          return "";
        }) == "its process ended with signal 9 (Killed)");
}

TEST_CASE("bodies run in parallel, and results keep their order", "[process]") {
  std::vector<process::Body> bodies;
  for (int i = 0; i < 7; ++i)
    bodies.emplace_back([i] {
      usleep(static_cast<useconds_t>(1000 * (7 - i)));
      return std::to_string(i);
    });
  std::size_t last_ended = 0;
  const std::vector<process::Result> results =
      process::run_all(bodies, 3, [&](std::size_t ended) { last_ended = ended; });
  CHECK(last_ended == 7);
  for (std::size_t i = 0; i < results.size(); ++i) CHECK(results[i].text == std::to_string(i));
}

TEST_CASE("a time limit, an exception of the caller and the end of the parent end a body",
          "[process]") {
  const process::Body sleeper = [] {
    sleep(100);
    return std::string();
  };
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  Channel parent(ends[0], STDOUT_FILENO);
  const std::optional<process::Result> late = process::run_within(0.05, sleeper, parent);
  REQUIRE(late);
  CHECK(late->text == "took longer than 0.05 s");
  const auto give_up = [](std::size_t) { throw std::logic_error("enough"); };
  CHECK_THROWS_WITH(process::run_all({sleeper, sleeper}, 2, give_up), "enough");
  close(ends[1]);
  CHECK_FALSE(process::run_within(0, sleeper, parent));
  close(ends[0]);
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
}
