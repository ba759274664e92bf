#include <filesystem>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

const std::string quick = "run -s 4 -b 8 -f 1 --backward-times 2 ";

std::string first_lines_until(const std::string& text, const std::string& end) {
  return text.substr(0, text.find(end));
}

}  // namespace

TEST_CASE("show prints the tables of run --details", "[cli]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran =
      place.run(quick + "--schedule 1f1b gpipe --details --trace t.h5");
  const tests::ProgramResult shown = place.run("show t-1f1b.h5 t-gpipe.h5");
  CHECK(shown.status == 0);
  CHECK(shown.out == first_lines_until(ran.out, "trace   "));
  // A trace stores the scenario, but not the job description that `run` derives from it.
  auto again = nlohmann::json::parse(place.run(quick + "--schedule 1f1b --json").out);
  again["job"] = nullptr;
  CHECK(nlohmann::json::parse(place.run("show t-1f1b.h5 --json").out) == again);
}

TEST_CASE("the scenario in a trace reproduces the run", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick + "--schedule gpipe interleaved-1f1b --chunks 2 --trace t.h5").status ==
          0);
  const tests::ProgramResult stored = place.shell(
      "/usr/bin/python3 -c \"import "
      "h5py; print(h5py.File('t-interleaved-1f1b-x2.h5').attrs['scenario'].decode())\" > "
      "again.yaml");
  if (stored.status != 0) {
    WARN("skipped: h5py is not installed");
    return;
  }
  CHECK(place.run("run again.yaml --trace again.h5").status == 0);
  CHECK(place.read("again.h5") == place.read("t-interleaved-1f1b-x2.h5"));
}

TEST_CASE("show draws the same pictures as run", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick + "--trace t.h5 -o a.svg a.html").status == 0);
  REQUIRE(place.run("show t.h5 -o b.svg b.html").status == 0);
  CHECK(place.read("a.svg") == place.read("b.svg"));
  CHECK(place.read("a.html") == place.read("b.html"));
}

TEST_CASE("a damaged trace is refused", "[cli]") {
  const tests::CommandFolder place;
  REQUIRE(place.run(quick + "--trace t.h5").status == 0);
  const std::string whole = place.read("t.h5");
  place.write("half.h5", whole.substr(0, whole.size() / 2));
  place.write("text.h5", "this is no trace");
  for (const std::string file : {"half.h5", "text.h5", "none.h5", "."}) {
    const tests::ProgramResult ran = place.run("show " + file + " -o x.html");
    CAPTURE(file, ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Catch::StartsWith("pipewright: " + file));
    CHECK_FALSE(std::filesystem::exists(place.folder() / "x.html"));
  }
  CHECK(place.run("show").status == 2);
}
