#pragma once

#include <filesystem>
#include <string>

namespace pipewright::tests {

// What a run of the program left behind.
struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};

// A folder of its own, the current one of the programs run in it, removed at the end.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  // `pipewright WORDS`, as a shell reads them.
  Ran run(const std::string& words) const;
  Ran shell(const std::string& command) const;
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  // Names of all files, separated by spaces.
  std::string files() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path streams_;
};

}  // namespace pipewright::tests
