#include "sim/base/temporary_folder.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

using pipewright::base::TemporaryFolder;

TEST_CASE("a temporary folder exists until it is destroyed, and then its files do not", "[base]") {
  std::filesystem::path path;
  {
    const TemporaryFolder folder("pipewright-test-", "no folder");
    path = folder.path();
    CHECK(std::filesystem::is_directory(path));
    CHECK(path.filename().string().starts_with("pipewright-test-"));
    std::ofstream(path / "file") << "text";
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("two temporary folders with the same prefix are different", "[base]") {
  const TemporaryFolder first("pipewright-test-", "no folder");
  const TemporaryFolder second("pipewright-test-", "no folder");
  CHECK(first.path() != second.path());
}
