#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cluster/platform/error.hpp"

namespace pugi {
class xml_document;
class xml_node;
}  // namespace pugi

namespace pipewright::cluster {

// Text of a platform file, and its XML with the position of every element.
class PlatformFile {
 public:
  PlatformFile(std::filesystem::path path, std::string text);
  ~PlatformFile();
  PlatformFile(PlatformFile&&) noexcept;

  const std::filesystem::path& path() const { return path_; }
  const std::string& text() const { return text_; }
  const pugi::xml_document& document() const { return *document_; }
  // Calls visit(element, nesting depth) for every element in the order of the text.
  void for_each_element(const std::function<void(const pugi::xml_node&, int depth)>& visit) const;
  int line_of(std::ptrdiff_t offset) const;
  // Throws an error with file and line.
  [[noreturn]] void fail(std::ptrdiff_t offset, const Error& error) const;

 private:
  std::filesystem::path path_;
  std::string text_;
  std::vector<std::ptrdiff_t> line_ends_;
  std::unique_ptr<pugi::xml_document> document_;
};

// Reads and checks a platform file. Throws Error with file and line for faults at which SimGrid
// would end the process: not a regular file, malformed XML, an unknown routing, a negative latency,
// or a bandwidth or speed of 0.
PlatformFile read_platform_file(const std::filesystem::path& path);

// Lines at which hosts and links are declared, by name. Hosts and links that a <cluster> generates
// map to the line of the <cluster>.
class SourceLines {
 public:
  explicit SourceLines(const PlatformFile& file);

  int line_of_host(const std::string& name) const;  // 0 if unknown
  int line_of_link(const std::string& name) const;

 private:
  struct Generated {
    std::string prefix;
    std::string suffix;
    std::string links;  // prefix of the generated links' names
    int line;
  };
  std::unordered_map<std::string, int> hosts_;
  std::unordered_map<std::string, int> links_;
  std::vector<Generated> clusters_;
};

}  // namespace pipewright::cluster
