#pragma once

#include <filesystem>
#include <string>

namespace pipewright::tests {

// Exit status and output of a run of the program.
struct Ran {
  int status = 0;
  std::string out;
  std::string err;
};

// A temporary folder, in which programs run; it is removed by the destructor.
class Workplace {
 public:
  Workplace();
  ~Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  // Runs `pipewright WORDS` in a shell.
  Ran run(const std::string& words) const;
  Ran shell(const std::string& command) const;
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  // Returns the names of all files, separated by spaces.
  std::string files() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path streams_;
};

}  // namespace pipewright::tests
