#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace pipewright::trace {

// A file that gets its final name only once it is whole. Two of them with the same final name, in
// one process or several, do not meet: each has a temporary name of its own in the same folder.
class PartialFile {
 public:
  explicit PartialFile(std::filesystem::path path);  // creates the temporary file, empty
  ~PartialFile();                                    // removes it, unless committed
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  void commit();

  const std::filesystem::path& path() const { return path_; }
  const std::filesystem::path& temporary() const { return temporary_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path target_;  // path_, or where it leads to if it is a link
  std::filesystem::path temporary_;
  bool committed_ = false;
};

// A whole file from what `write` puts into the stream, or from these bytes.
void write_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace pipewright::trace
