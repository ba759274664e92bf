#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "sim/config/scenario.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::config::test {

// A temporary folder, which the destructor removes.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "config-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

// Sets PIPEWRIGHT_PLATFORMS, the folder of the library, during the life of the object.
struct OwnLibrary {
  OwnLibrary() { setenv("PIPEWRIGHT_PLATFORMS", folder.path().c_str(), 1); }
  OwnLibrary(const OwnLibrary&) = delete;
  OwnLibrary& operator=(const OwnLibrary&) = delete;
  ~OwnLibrary() { unsetenv("PIPEWRIGHT_PLATFORMS"); }
  Folder folder;
};

// Text of the Error that `action` throws; empty if it throws none.
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Keys of a model with experts, for fault().
inline const std::string experts = ", experts: {count: 8, top_k: 2, ffn: 64}";

// Returns the error of a scenario with 8 layers on 2 stages and these additional model and training
// keys; empty if it is accepted.
inline std::string fault(const std::string& model, const std::string& training) {
  const std::string text =
      "model: {layers: 8, hidden: 64, heads: 4, vocabulary: 100, sequence: 64" + model +
      "}\nparallel: {pp: 2}\nglobal_batch: 4\ntraining:\n  " + training + "\n";
  return error_of([&] { read_scenario(read_yaml_text(text, "s.yaml")); });
}

// Returns true if two trees have the same content; their places in files may differ.
inline bool same(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size() ||
      a.entries.size() != b.entries.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.entries.size(); ++i)
    if (a.entries[i].key != b.entries[i].key || !same(a.entries[i].value, b.entries[i].value))
      return false;
  return true;
}

}  // namespace pipewright::config::test
