#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace pipewright::trace {

// A file that gets its final name only when it is complete. Writers of the same file, in one
// process or several, do not interfere: each has a temporary name of its own in the same folder.
// The next writer in that folder removes the temporary files of processes that were killed.
class PartialFile {
 public:
  explicit PartialFile(std::filesystem::path path);  // Creates the empty temporary file.
  ~PartialFile();  // Removes the temporary file unless it was committed.
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  // Renames the temporary file to its final name.
  void commit();

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path target_;  // path_, or the target of a symbolic link.
  std::filesystem::path temporary_;
  bool committed_ = false;
};

// Writes a complete file from the output of `write`, or from bytes.
void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace pipewright::trace
