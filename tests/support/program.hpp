#pragma once

#include <filesystem>
#include <string>

namespace pipewright::tests {

// Exit status and output of a command that a test ran.
struct ProgramResult {
  int status = 0;
  std::string out;
  std::string err;
};

// A temporary folder in which a test runs commands; the destructor removes it.
class CommandFolder {
 public:
  CommandFolder();
  ~CommandFolder();
  CommandFolder(const CommandFolder&) = delete;
  CommandFolder& operator=(const CommandFolder&) = delete;

  // Runs `pipewright WORDS` in a shell, in this folder.
  ProgramResult run(const std::string& words) const;
  ProgramResult shell(const std::string& command) const;
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  // Returns the names of all files in the folder, separated by spaces.
  std::string files() const;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path streams_;
};

}  // namespace pipewright::tests
