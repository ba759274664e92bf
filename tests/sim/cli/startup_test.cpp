#include <array>

#include <catch2/catch.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

// Checks which large libraries each command loads. Starting without them takes a few milliseconds,
// starting with all of them ten times as long.

using namespace pipewright;

namespace {

// Returns the large libraries that the dynamic linker loads for a command, such as "simgrid hdf5".
std::string loaded(const std::string& words) {
  const tests::CommandFolder place;
  place.run("run -s 2 -b 2 -f 1 --backward-times 2 --schedule 1f1b --trace run.h5");
  const tests::ProgramResult ran =
      place.shell("LD_DEBUG=files LD_DEBUG_OUTPUT=$PWD/linker " + std::string(PIPEWRIGHT_PROGRAM) +
                  " " + words + " && cat linker.* >all");
  CAPTURE(words, ran.err);
  REQUIRE(ran.status == 0);
  const std::string files = place.read("all");
  REQUIRE(files.find("libc.so") != std::string::npos);
  std::string found;
  for (const std::string name : {"simgrid", "hdf5", "cairo"})
    if (files.find("/lib" + name) != std::string::npos ||
        files.find("file=lib" + name) != std::string::npos)
      found += (found.empty() ? "" : " ") + name;
  return found;
}

const std::string passes = "run -s 4 -b 8 -f 1 --backward-times 2 --schedule 1f1b ";
const std::string scenario =
    "run " PIPEWRIGHT_ROOT "/platforms/scenarios/llama-3-70b-h100.yaml --schedule 1f1b ";

}  // namespace

TEST_CASE("commands load no library that they do not need", "[cli]") {
  CHECK(loaded("--help") == "");
  CHECK(loaded("--version") == "");
  CHECK(loaded("schedule list") == "");
  CHECK(loaded("platform show dgx-h100") == "");
  CHECK(loaded(passes + "--engine timing") == "");
  CHECK(loaded(scenario + "--engine timing") == "");
}

TEST_CASE("each command loads exactly the libraries that it needs", "[cli]") {
  CHECK(loaded(passes) == "simgrid");
  CHECK(loaded(passes + "--engine timing --trace r.h5") == "hdf5");
  CHECK(loaded(passes + "--engine timing -o r.svg") == "cairo");
  CHECK(loaded(passes + "-o r.png --trace r.h5") == "simgrid hdf5 cairo");
  CHECK(loaded("show run.h5") == "hdf5");
}

TEST_CASE("a missing part of the program is named with the places searched", "[cli]") {
  const tests::CommandFolder place;
  place.shell("cp " PIPEWRIGHT_PROGRAM " .");
  const tests::ProgramResult ran = place.shell("./pipewright " + passes);
  CHECK(ran.status == 2);
  const std::string here = std::filesystem::canonical(place.folder()).string();
  CHECK_THAT(ran.err, Catch::Contains("libpipewright_simgrid.so, a part of this program, is missing"
                                      ": neither " +
                                      here + "/libpipewright_simgrid.so nor " +
                                      std::filesystem::path(here).parent_path().string() + "/lib"));
  CHECK(place.shell("./pipewright " + passes + "--engine timing").status == 0);
}
