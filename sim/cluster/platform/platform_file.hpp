#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace pugi {
class xml_document;
class xml_node;
}  // namespace pugi

namespace pipewright::cluster {

// The text of a platform file and its XML, which remembers where its elements stand.
class PlatformFile {
 public:
  PlatformFile(std::filesystem::path path, std::string text);
  ~PlatformFile();
  PlatformFile(PlatformFile&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  const std::string& text() const { return text_; }
  const pugi::xml_document& document() const { return *document_; }
  // In the order of the text, with how many elements each stands in.
  void for_each_element(const std::function<void(const pugi::xml_node&, int depth)>& look) const;
  int line_of(std::ptrdiff_t offset) const;
  // Throws Error: "FILE:LINE: what".
  [[noreturn]] void fail(std::ptrdiff_t offset, const std::string& what) const;

 private:
  std::filesystem::path path_;
  std::string text_;
  std::vector<std::ptrdiff_t> line_ends_;
  std::unique_ptr<pugi::xml_document> document_;
};

// Throws Error, naming file and line, for what SimGrid would answer by ending the process: no
// regular file, malformed XML, an unknown routing, a negative latency or a bandwidth or speed of 0.
PlatformFile read_platform_file(const std::filesystem::path& path);

// Where hosts and links stand in a cluster's file, by name; those that a <cluster> makes stand
// where it does.
class SourceLines {
 public:
  explicit SourceLines(const PlatformFile& file);

  int line_of_host(const std::string& name) const;  // 0 if unknown
  int line_of_link(const std::string& name) const;

 private:
  struct Made {
    std::string prefix;
    std::string suffix;
    std::string links;  // what their names begin with
    int line;
  };
  std::unordered_map<std::string, int> hosts_;
  std::unordered_map<std::string, int> links_;
  std::vector<Made> clusters_;
};

}  // namespace pipewright::cluster
