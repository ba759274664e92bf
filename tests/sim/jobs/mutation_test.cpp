#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/jobs/support.hpp"
#include "support/random.hpp"

using namespace pipewright;

namespace {

std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t most) { return most == 0 ? 0 : random() % most; };
  const std::string pieces[] = {"$",    "${", "$((", "((", "\"", "'", "`",  "[",           "{",
                                "=",    "--", "\n",  "*",  "|",  "0", "-1", "99999999999", "\\",
                                "case", "if", "fi",  ")",  "}",  "(", "<<E"};
  for (int i = 0; i < 4; ++i) {
    const std::size_t at = below(text.size());
    switch (below(3)) {
      case 0:
        text.erase(at, below(12));
        break;
      case 1:
        text.insert(at, pieces[below(std::size(pieces))]);
        break;
      default:
        text = text.substr(0, at) + text.substr(below(text.size()));
    }
  }
  return text;
}

}  // namespace

TEST_CASE("files of jobs that are damaged are read or refused", "[jobs][fuzz]") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "pipewright-jobs-mutations";
  std::filesystem::create_directories(folder);
  constexpr int rounds = 150;
  int read = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests::job_file(""))) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::mt19937 random(20);
    for (int round = 0; round < rounds; ++round) {
      const std::string file = (folder / entry.path().filename()).string();
      const std::string damaged = mutated(text, random);
      std::ofstream(file) << damaged;
      CAPTURE(file, damaged);
      try {
        const std::vector<std::string> files{file};
        const jobs::Job job = jobs::import_job(files, {.variables = {}, .gpus = 64});
        jobs::commented_yaml(job);
        if (job.missing.empty()) config::read_scenario(job.tree);
        ++read;
      } catch (const config::Error&) {
        ++refused;
      }
    }
  }
  std::filesystem::remove_all(folder);
  CHECK(read > 0);
  CHECK(refused > 0);
}
