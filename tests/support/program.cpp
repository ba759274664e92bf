#include "support/program.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "support/paths.hpp"

namespace pipewright::tests {
namespace {

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::filesystem::path temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "pipewright-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  return name;
}

}  // namespace

CommandFolder::CommandFolder() : folder_(temporary_folder()), streams_(temporary_folder()) {}

CommandFolder::~CommandFolder() {
  std::filesystem::remove_all(folder_);
  std::filesystem::remove_all(streams_);
}

ProgramResult CommandFolder::run(const std::string& words) const {
  return shell(fmt::format("'{}' {}", PIPEWRIGHT_PROGRAM, words));
}

ProgramResult CommandFolder::shell(const std::string& command) const {
  const int status = std::system(fmt::format("cd '{0}' && ({1}) >'{2}/out' 2>'{2}/err'",
                                             folder_.string(), command, streams_.string())
                                     .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          content(streams_ / "out"), content(streams_ / "err")};
}

void CommandFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

std::string CommandFolder::read(const std::string& name) const { return content(folder_ / name); }

std::string CommandFolder::files() const {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_))
    names.insert(entry.path().filename().string());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace pipewright::tests
