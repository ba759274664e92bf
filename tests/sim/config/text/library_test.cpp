#include "sim/config/text/library.hpp"

#include <cstdlib>

#include <catch2/catch.hpp>

#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

// A library of the test's own while it lives.
struct OwnLibrary {
  OwnLibrary() { setenv("PIPEWRIGHT_PLATFORMS", folder.path().c_str(), 1); }
  ~OwnLibrary() { unsetenv("PIPEWRIGHT_PLATFORMS"); }
  Folder folder;
};

std::filesystem::path path_of(const std::string& text, const Origin& origin = {}) {
  const Value value = make_text(text, origin);
  return library_or_path({value, "model"}, "models", ".yaml");
}

TEST_CASE("the library that comes with the program is found by names", "[model]") {
  CHECK(library_file("models", "llama-3-8b", ".yaml").filename() == "llama-3-8b.yaml");
  CHECK(std::filesystem::exists(library_file("gpus", "a100-80gb", ".yaml")));
}

TEST_CASE("the environment names another library", "[model]") {
  const OwnLibrary own;
  own.folder.write("models/b.yaml", "layers: 1");
  own.folder.write("models/a.yaml", "layers: 1");
  own.folder.write("models/notes.txt", "");
  CHECK(library_names("models", ".yaml") == std::vector<std::string>{"a", "b"});
  CHECK(library_file("models", "a", ".yaml") == own.folder.path() / "models/a.yaml");
  CHECK(library_names("gpus", ".yaml").empty());
  CHECK_THAT(error_of([] { library_file("gpus", "a100", ".yaml"); }),
             Catch::Contains("there are no gpus in " + own.folder.path().string()));
}

TEST_CASE("a name that the library has not is answered with the nearest and all", "[model]") {
  const std::string message = error_of([] { path_of("lama-3-8b", {"s.yaml", 3, 8}); });
  CHECK_THAT(message, Catch::StartsWith("s.yaml:3:8: model: 'lama-3-8b'"));
  CHECK_THAT(message, Catch::Contains("did you mean 'llama-3-8b'?"));
  CHECK_THAT(message, Catch::Contains("mixtral-8x7b"));
  // h200 is but one letter away, and h100-sxm what was begun.
  CHECK_THAT(error_of([] { library_file("gpus", "h100", ".yaml"); }),
             Catch::Contains("did you mean 'h100-sxm'?"));
}

TEST_CASE("what has a slash or the extension is a path from the file that names it", "[model]") {
  const Folder folder;
  const std::string file = folder.write("sub/mine.yaml", "layers: 1");
  const Origin origin{"s.yaml", 1, 1, folder.path().string()};
  CHECK(path_of("sub/mine.yaml", origin) == file);
  CHECK(path_of("mine.yaml", {"s.yaml", 1, 1, (folder.path() / "sub").string()}) == file);
  CHECK(path_of(file) == file);
  const std::string message = error_of([&] { path_of("sub/other.yaml", origin); });
  CHECK_THAT(message, Catch::Contains("s.yaml:1:1: model is 'sub/other.yaml'") &&
                          Catch::Contains("is no file"));
}

}  // namespace
}  // namespace pipewright::config::test
