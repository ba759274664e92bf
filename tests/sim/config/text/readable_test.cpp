#include "sim/config/text/readable.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "sim/config/scenario.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "tests/support/program.hpp"

using namespace pipewright;
namespace fs = std::filesystem;

namespace {

void read(const std::string& text) {
  config::read_scenario(config::read_yaml_text(text, "scenario.yaml"));
}

}  // namespace

TEST_CASE("with a limit scenarios read only files in the project", "[config]") {
  const tests::CommandFolder workplace;
  const fs::path project = workplace.folder() / "project";
  fs::create_directories(project / "inner");
  workplace.write("outside.csv", "secret");
  workplace.write("project/lengths.csv", "100\n200\n");
  fs::create_symlink(workplace.folder() / "outside.csv", project / "link.csv");
  fs::create_symlink(workplace.folder(), project / "inner" / "up");
  fs::current_path(project);

  std::vector<fs::path> folders{project};
  for (const fs::path& folder : config::library_folders()) folders.push_back(folder);
  config::read_only_within(folders);

  const std::string model = "model: llama-3-8b\ngpu: h100-sxm\nmicrobatches: 8\n";
  CHECK_NOTHROW(read(model));
  CHECK_NOTHROW(read(model + "training: {lengths: {file: lengths.csv}}\n"));
  for (const std::string file :
       {"../outside.csv", "link.csv", "inner/up/outside.csv", "inner/../../outside.csv",
        "/etc/passwd", "/proc/self/environ", "../nothing.csv"}) {
    const std::string named = file.front() == '/' ? file : "./" + file;
    const auto refused = Catch::Contains("outside the project folder");
    CAPTURE(file);
    CHECK_THROWS_WITH(read(model + "training: {lengths: {file: " + file + "}}\n"), refused);
    CHECK_THROWS_WITH(read("model: " + named + "\n"), refused);
    CHECK_THROWS_WITH(read("cluster: " + named + "\nmodel: llama-3-8b\nmicrobatches: 8\n"),
                      refused);
    CHECK_THROWS_WITH(read("gpu: " + named + "\nmodel: llama-3-8b\nmicrobatches: 8\n"), refused);
    CHECK_THROWS_WITH(config::read_yaml_file(file), refused);
  }
  CHECK_THROWS_WITH(read(model + "schedule: ../outside.csv\n"),
                    Catch::Contains("outside the project folder"));
}
