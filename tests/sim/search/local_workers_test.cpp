#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/search/workers.hpp"
#include "support/program.hpp"

using pipewright::search::LocalWorkers;
using Event = pipewright::search::Workers::Event;

namespace {

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

// Collects events of the workers until there are `count` of them.
std::vector<Event> next_events(LocalWorkers& workers, std::size_t count) {
  std::vector<Event> events;
  while (events.size() < count)
    for (Event& event : workers.wait(1)) events.push_back(std::move(event));
  return events;
}

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

bool has_children() { return waitpid(-1, nullptr, WNOHANG) >= 0; }

}  // namespace

TEST_CASE("workers answer line by line, however long the lines are", "[workers]") {
  LocalWorkers workers(3, shell("cat"));
  REQUIRE(workers.count() == 3);
  // These lines are longer than the buffer of a pipe, so they must be written and read at the same
  // time.
  for (std::size_t i = 0; i < 3; ++i)
    workers.send(i, std::string(3'000'000, static_cast<char>('a' + i)));
  std::vector<Event> events = next_events(workers, 3);
  REQUIRE(events.size() == 3);
  for (const Event& event : events) {
    CHECK(event.kind == Event::Kind::answer);
    CHECK((event.text == std::string(3'000'000, static_cast<char>('a' + event.worker))));
  }
  workers.send(1, "one");
  workers.send(1, "two");
  events = next_events(workers, 2);
  CHECK(events[0].text == "one");
  CHECK(events[1].text == "two");
}

TEST_CASE("a worker that ends is lost with its reason", "[workers]") {
  const auto why = [](const std::string& script) {
    LocalWorkers workers(1, shell(script));
    const Event event = next_events(workers, 1).front();
    CHECK(event.kind == Event::Kind::lost);
    CHECK_FALSE(workers.is_alive(0));
    return event.text;
  };
  CHECK(why("exit 3") == "its process ended with status 3");
  CHECK(why("kill -9 $$") == "its process ended with signal 9 (Killed)");
  CHECK(why("echo a long story >&2; echo and why >&2; exit 2") ==
        "its process ended with status 2: and why");
  // A worker that closes its output without ending is killed and reported as lost.
  CHECK(why("exec <&- >&-; while :; do sleep 0.1; done") ==
        "its process ended with signal 9 (Killed)");
}

TEST_CASE("the output of a worker before its end counts", "[workers]") {
  LocalWorkers workers(1, shell("read line; echo $line; kill -9 $$"));
  workers.send(0, "last words");
  const std::vector<Event> events = next_events(workers, 2);
  CHECK(events[0].text == "last words");
  CHECK(events[1].kind == Event::Kind::lost);
}

TEST_CASE("a worker whose program does not exist is lost with the reason", "[workers]") {
  LocalWorkers workers(1, {"/no/such/program"});
  CHECK(next_events(workers, 1)[0].text ==
        "its process ended with status 127: No such file or directory");
}

TEST_CASE("sending to a worker that has ended does no harm", "[workers]") {
  LocalWorkers workers(1, shell("exec <&-; sleep 0.2"));
  for (int i = 0; i < 100; ++i) workers.send(0, std::string(100'000, 'x'));
  CHECK(next_events(workers, 1)[0].kind == Event::Kind::lost);
  workers.send(0, "still there?");
  CHECK(workers.wait(0).empty());
}

TEST_CASE("a worker can be restarted while it is alive", "[workers]") {
  LocalWorkers workers(2, shell("cat; exit 1"));
  for (int round = 0; round < 5; ++round) {
    REQUIRE(workers.restart(1));
    CHECK(workers.is_alive(1));
    workers.send(1, "again");
    const Event event = next_events(workers, 1).front();
    CHECK(event.worker == 1);
    CHECK(event.text == "again");
  }
}

TEST_CASE("workers leave no process and no descriptor behind", "[workers]") {
  const std::size_t before = open_files();
  {
    LocalWorkers workers(4, shell("cat"));
    workers.restart(2);
    workers.send(3, "hello");
    next_events(workers, 1);
    CHECK(open_files() == before + 8);
  }
  CHECK(open_files() == before);
  CHECK_FALSE(has_children());
}

TEST_CASE("workers do not inherit each other's pipes", "[workers]") {
  LocalWorkers workers(4, shell("ls /proc/self/fd | wc -l"));
  std::vector<std::string> counts;
  for (const Event& event : next_events(workers, 8))
    if (event.kind == Event::Kind::answer) counts.push_back(event.text);
  CHECK(counts == std::vector<std::string>(4, counts.front()));
}

TEST_CASE("workers ignore signals of the terminal and end with the coordinator", "[workers]") {
  const pipewright::tests::CommandFolder place;
  const std::string name = (place.folder() / "worker").string();
  const pid_t coordinator = fork();
  if (coordinator == 0) {
    LocalWorkers workers(1, shell("echo $$ > " + name + "; kill -INT $$; kill -TERM $$; cat"));
    workers.send(0, "alive");
    if (next_events(workers, 1)[0].text != "alive") std::_Exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(coordinator, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  pid_t worker = 0;
  std::ifstream(name) >> worker;
  REQUIRE(worker > 0);
  while (kill(worker, 0) == 0 &&
         std::filesystem::exists("/proc/" + std::to_string(worker) + "/fd/0"))
    usleep(1000);
  SUCCEED("it has ended");
}
