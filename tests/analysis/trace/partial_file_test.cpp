#include "analysis/trace/partial_file.hpp"

#include <csignal>
#include <fstream>

#include <catch2/catch.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using test::ScratchFolder;

TEST_CASE("the next writer in a folder removes the temporary files of killed processes",
          "[trace]") {
  const ScratchFolder folder;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const trace::PartialFile left(folder / "left.csv");
    const trace::PartialFile twice(folder / "left.csv");
    ::kill(::getpid(), SIGKILL);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  REQUIRE(folder.entries() == 2);
  trace::write_file(folder / "other.csv", "1,2\n");
  CHECK(folder.entries() == 1);
}

TEST_CASE("temporary files of living processes, and files of the user, stay", "[trace]") {
  const ScratchFolder folder;
  const trace::PartialFile unfinished(folder / "slow.csv");
  // The name of a file that another machine writes, and a name that only resembles one.
  for (const char* const name : {".run.h5.00000000-999999999.partial", ".notes.partial"})
    std::ofstream(folder / name) << "text";
  trace::write_file(folder / "quick.csv", "1,2\n");
  CHECK(std::filesystem::exists(unfinished.temporary()));
  CHECK(folder.entries() == 4);
}
