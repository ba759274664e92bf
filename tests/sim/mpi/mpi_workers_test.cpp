#include "sim/mpi/mpi_workers.hpp"

#include <catch2/catch.hpp>

#include "sim/mpi/messages.hpp"
#include "sim/mpi/support.hpp"

using namespace pipewright;
using Event = search::Workers::Event;
using Catch::Matchers::Contains;

namespace {

constexpr double silence = 1.5;  // seconds
constexpr double max_wait = 60;  // seconds

std::vector<Event> wait_for(search::Workers& workers, std::size_t count) {
  std::vector<Event> events;
  for (const double end = mpi::steady_now() + max_wait;
       events.size() < count && mpi::steady_now() < end;)
    for (Event& event : workers.wait(0.1)) events.push_back(std::move(event));
  return events;
}

Event wait_for_event(search::Workers& workers) {
  std::vector<Event> events = wait_for(workers, 1);
  REQUIRE(events.size() == 1);
  return events.front();
}

}  // namespace

TEST_CASE("every rank but the first is a worker that answers lines", "[messages]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"serve", "", "echo"}, silence);
  REQUIRE(workers.count() == 3);
  for (std::size_t worker = 0; worker < 3; ++worker) {
    CHECK(workers.is_alive(worker));
    workers.send(worker, "line " + std::to_string(worker));
  }
  std::vector<std::string> answers(3);
  for (const Event& event : wait_for(workers, 3)) {
    CHECK(event.kind == Event::Kind::answer);
    answers.at(event.worker) = event.text;
  }
  CHECK(answers == std::vector<std::string>{"echo line 0", "echo line 1", "echo line 2"});
}

TEST_CASE("lines of any length keep their order", "[lengths]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"echo"}, silence);
  for (const std::size_t length : {0UL, 1UL, 4096UL, 70'000UL, 1'000'000UL, 30'000'000UL, 3UL}) {
    std::string line(length, 'x');
    for (std::size_t i = 0; i < length; i += 997) line[i] = static_cast<char>('a' + i % 26);
    for (std::size_t worker = 0; worker < 3; ++worker) workers.send(worker, line);
    for (const Event& event : wait_for(workers, 3)) CHECK(event.text == "echo " + line);
  }
}

TEST_CASE("waiting ends after its time limit", "[wait]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"echo"}, silence);
  workers.send(1, "wait");
  const double start = mpi::steady_now();
  CHECK(workers.wait(0.05).empty());
  CHECK(mpi::steady_now() - start >= 0.05);
  CHECK(wait_for_event(workers).text == "echo wait");
}

TEST_CASE("a worker that crashes is lost and can be replaced", "[crash]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"echo"}, silence);
  workers.send(1, "crash");
  const Event lost = wait_for_event(workers);
  CHECK(lost.worker == 1);
  CHECK(lost.kind == Event::Kind::lost);
  CHECK_THAT(lost.text, Contains("rank 2 on ") && Contains("it crashed"));
  CHECK_FALSE(workers.is_alive(1));
  CHECK(workers.is_alive(0));
  workers.send(1, "to nobody");

  REQUIRE(workers.restart(1));
  CHECK(workers.is_alive(1));
  workers.send(1, "again");
  CHECK(wait_for_event(workers).text == "echo again");
}

TEST_CASE("a late answer of a replaced worker is ignored", "[replaced]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"echo"}, silence);
  workers.send(0, "old");
  mpi::sleep_for(0.5);  // it has answered
  REQUIRE(workers.restart(0));
  workers.send(0, "new");
  CHECK(wait_for_event(workers).text == "echo new");
}

TEST_CASE("a worker whose command cannot start is lost with the reason", "[cannot]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"cannot"}, silence);
  for (const Event& event : wait_for(workers, 3)) {
    CHECK(event.kind == Event::Kind::lost);
    CHECK_THAT(event.text, Contains("it cannot start"));
  }
}

TEST_CASE("a rank that is killed is lost for good, and other ranks continue", "[death]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"echo"}, silence);
  workers.send(1, "die");
  const Event lost = wait_for_event(workers);
  CHECK(lost.worker == 1);
  CHECK(lost.kind == Event::Kind::lost);
  CHECK_THAT(lost.text, Contains("is dead or hangs: it has sent nothing for 1.5 s"));
  CHECK_FALSE(workers.is_alive(1));
  CHECK_FALSE(workers.restart(1));
  const std::string large(5'000'000, 'y');
  workers.send(1, large);
  for (const std::size_t worker : {0U, 2U}) workers.send(worker, large);
  for (const Event& event : wait_for(workers, 2)) CHECK(event.text == "echo " + large);
}

TEST_CASE("a rank that hangs is lost, and can be restarted once it answers again", "[hang]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"echo"}, silence);
  workers.send(2, "hang");
  const Event lost = wait_for_event(workers);
  CHECK(lost.worker == 2);
  CHECK_THAT(lost.text, Contains("hangs"));
  CHECK_FALSE(workers.restart(2));

  const Event back = wait_for_event(workers);
  CHECK(back.worker == 2);
  CHECK(back.kind == Event::Kind::lost);
  CHECK_THAT(back.text, Contains("answers again"));
  REQUIRE(workers.restart(2));
  workers.send(2, "task");
  CHECK(wait_for_event(workers).text == "echo task");  // not the late "echo hang"
}

TEST_CASE("ranks do not count as silent while the coordinator does not listen", "[listen]") {
  mpi::MpiWorkers workers(mpi::test_messages(), {"echo"}, silence);
  mpi::sleep_for(2 * silence);
  CHECK(workers.wait(1).empty());
  for (std::size_t worker = 0; worker < 3; ++worker) CHECK(workers.is_alive(worker));
}
