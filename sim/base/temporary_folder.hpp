#pragma once

#include <filesystem>
#include <string_view>

namespace pipewright::base {

// A folder in the system's folder for temporary files. The destructor removes it with its contents.
class TemporaryFolder {
 public:
  // Creates a folder whose name is `prefix` and six random characters. If that fails, throws
  // std::runtime_error with the path and `failure`.
  TemporaryFolder(std::string_view prefix, std::string_view failure);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace pipewright::base
