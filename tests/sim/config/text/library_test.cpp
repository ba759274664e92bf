#include "sim/config/text/library.hpp"

#include <algorithm>
#include <cstdlib>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

std::filesystem::path path_of(const std::string& text, const Origin& origin = {}) {
  const Value value = make_text(text, origin);
  return library_or_path({value, "model"}, "models", ".yaml");
}

TEST_CASE("names find files of the library that comes with the program", "[model]") {
  CHECK(library_file("models", "llama-3-8b", ".yaml").filename() == "llama-3-8b.yaml");
  CHECK(std::filesystem::exists(library_file("gpus", "a100-80gb", ".yaml")));
}

TEST_CASE("folders from the environment extend the library and earlier ones take precedence",
          "[model]") {
  const OwnLibrary library;
  const Folder second;
  library.folder.write("models/b.yaml", "layers: 1");
  library.folder.write("models/llama-3-8b.yaml", "layers: 1");
  library.folder.write("models/notes.txt", "");
  second.write("models/b.yaml", "layers: 2");
  second.write("models/c.yaml", "layers: 2");
  setenv("PIPEWRIGHT_PLATFORMS",
         (library.folder.path().string() + "::" + second.path().string()).c_str(), 1);
  const std::vector<std::string> names = library_names("models", ".yaml");
  CHECK(std::ranges::is_sorted(names));
  CHECK(std::ranges::count(names, "b") == 1);
  CHECK(std::ranges::count(names, "llama-3-8b") == 1);
  CHECK(std::ranges::count(names, "mixtral-8x7b") == 1);
  CHECK(std::ranges::count(names, "notes") == 0);
  CHECK(library_file("models", "b", ".yaml") == library.folder.path() / "models/b.yaml");
  CHECK(library_file("models", "c", ".yaml") == second.path() / "models/c.yaml");
  CHECK(library_file("models", "llama-3-8b", ".yaml").parent_path() ==
        library.folder.path() / "models");
  CHECK(is_of_library(second.path() / "models/c.yaml", "models"));
  CHECK(!is_of_library(second.path() / "c.yaml", "models"));
  CHECK_THAT(error_of([] { library_file("pictures", "a100", ".yaml"); }),
             Catch::Contains("the library has no pictures"));
}

TEST_CASE("a file of the library that contains its own name means that of the next folder",
          "[model]") {
  const OwnLibrary library;
  const Folder second;
  const std::filesystem::path first = library.folder.write("stacks/torchtitan.yaml", "");
  const std::filesystem::path next = second.write("stacks/torchtitan.yaml", "");
  const std::string folders = library.folder.path().string() + ":" + second.path().string();
  // The same folder may be listed twice.
  for (const std::string& listed : {folders, library.folder.path().string() + ":" + folders}) {
    setenv("PIPEWRIGHT_PLATFORMS", listed.c_str(), 1);
    const auto named_in = [](const std::filesystem::path& file) {
      return library_file("stacks", "torchtitan", ".yaml", file);
    };
    CHECK(named_in("scenario.yaml") == first);
    CHECK(named_in(library.folder.path() / "stacks/nanotron.yaml") == first);
    CHECK(named_in(first) == next);
    CHECK(named_in(next).filename() == "torchtitan.yaml");
    CHECK(named_in(next) == library_folders().back() / "stacks/torchtitan.yaml");
    CHECK(named_in(library_folders().back() / "stacks/torchtitan.yaml") == first);
  }
}

TEST_CASE("a program sets the folder that comes with it, which follows those of the environment",
          "[model]") {
  const OwnLibrary library;
  const Folder carried;
  library.folder.write("models/b.yaml", "layers: 1");
  carried.write("models/b.yaml", "layers: 2");
  carried.write("models/c.yaml", "layers: 2");
  const std::vector<std::filesystem::path> before = library_folders();
  set_own_library(carried.path());
  CHECK(library_folders() ==
        std::vector<std::filesystem::path>{library.folder.path(), carried.path()});
  CHECK(library_names("models", ".yaml") == std::vector<std::string>{"b", "c"});
  CHECK(library_file("models", "b", ".yaml") == library.folder.path() / "models/b.yaml");
  set_own_library({});
  CHECK(library_folders() == before);
}

TEST_CASE("an unknown name is refused with the nearest name, or else with all names", "[model]") {
  const std::string message = error_of([] { path_of("lama-3-8b", {"s.yaml", 3, 8}); });
  CHECK_THAT(message, Catch::StartsWith("s.yaml:3:8: model: 'lama-3-8b'"));
  CHECK_THAT(message, Catch::Contains("did you mean 'llama-3-8b'?"));
  CHECK_THAT(message, !Catch::Contains("mixtral-8x7b"));
  CHECK_THAT(error_of([] {
               path_of("my-own", {"s.yaml", 3, 8});
             }),
             Catch::Contains("mixtral-8x7b"));
}

TEST_CASE("names that begin with an unknown name are listed", "[model]") {
  CHECK_THAT(error_of([] {
               path_of("llama-3", {"s.yaml", 3, 8});
             }),
             Catch::EndsWith("allowed: llama-3-405b, llama-3-70b, llama-3-8b"));
}

TEST_CASE("the suggestion for an unknown name has the model number of the name", "[model]") {
  const auto gpu_error = [](const char* name) {
    return error_of([&] { library_file("gpus", name, ".yaml"); });
  };
  for (const auto& [typed, meant] : {std::pair{"h100", "h100-sxm"},
                                     {"H100-SMX", "h100-sxm"},
                                     {"rtx4090", "rtx-4090"},
                                     {"im300x", "mi300x"},
                                     {"h10", "h100-sxm"},
                                     {"dgb200", "gb200"}}) {
    CAPTURE(typed);
    CHECK_THAT(gpu_error(typed), Catch::Contains(fmt::format("did you mean '{}'?", meant)));
  }
  for (const char* const other : {"h900", "mi999", "b100", "mi300a", "gb400", "v1000"}) {
    CAPTURE(other);
    CHECK_THAT(gpu_error(other), !Catch::Contains("did you mean") &&
                                     Catch::Contains("is not among the gpus of the library") &&
                                     Catch::Contains("'pipewright gpu derive SHEET --like NAME'"));
  }
  // Another generation or size of a model is another model.
  for (const char* const other :
       {"qwen2.5-32b", "qwen3-70b", "llama-4-8b", "deepseek-v5", "gpt-oss-200b", "mixtral-8x9b"}) {
    CAPTURE(other);
    CHECK_THAT(error_of([&] { library_file("models", other, ".yaml"); }),
               !Catch::Contains("did you mean") &&
                   Catch::Contains("is not among the models of the library"));
  }
  CHECK_THAT(error_of([] { library_file("models", "qwen3-32B", ".yaml"); }),
             Catch::Contains("did you mean 'qwen3-32b'?"));
  CHECK_THAT(error_of([] { library_file("clusters", "dgx-h900", ".xml"); }),
             !Catch::Contains("did you mean") && !Catch::Contains("gpu derive"));
}

TEST_CASE("a text with a slash or the extension is a path relative to its file", "[model]") {
  const Folder folder;
  const std::string file = folder.write("sub/mine.yaml", "layers: 1");
  const Origin origin{"s.yaml", 1, 1, folder.path().string()};
  CHECK(path_of("sub/mine.yaml", origin) == file);
  CHECK(path_of("mine.yaml", {"s.yaml", 1, 1, (folder.path() / "sub").string()}) == file);
  CHECK(path_of(file) == file);
  const std::string message = error_of([&] { path_of("sub/second.yaml", origin); });
  CHECK_THAT(message, Catch::Contains("s.yaml:1:1: model: there is no file") &&
                          Catch::Contains("sub/second.yaml'"));
}

TEST_CASE("a text that ends in .json is a path", "[model]") {
  CHECK(is_library_name("llama-3-8b", ".yaml"));
  CHECK_FALSE(is_library_name("config.json", ".yaml"));
}

TEST_CASE("the label of a file is its name, that of a config.json its folder", "[model]") {
  CHECK(label_of_file("models/mine.yaml") == "mine");
  CHECK(label_of_file("models/mine.json") == "mine");
  CHECK(label_of_file("models/llama-3.1") == "llama-3.1");
  CHECK(label_of_file("hub/Qwen3-8B/config.json") == "Qwen3-8B");
  CHECK(label_of_file("hub/models--Qwen--Qwen3-8B/snapshots/abc/config.json") == "Qwen3-8B");
  CHECK(label_of_file("/config.json") == "config");
}

}  // namespace
}  // namespace pipewright::config::test
