#include "sim/jobs/request/sources.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "sim/base/letters.hpp"
#include "sim/config/text/value.hpp"
#include "sim/jobs/shell/words.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t max_source_bytes = 4U << 20U;

// Removes comments, as shells, YAML, TOML and Python have them.
std::string without_comments(const std::string& text) {
  std::string plain;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
        line.resize(i);
        break;
      }
    plain += line + "\n";
    at = end + 1;
  }
  return plain;
}

}  // namespace

SourceText::SourceText(const Source& source)
    : text_(without_comments(source.text)),
      extension_(std::filesystem::path(source.name).extension().string()) {}

bool SourceText::is_json() const {
  const std::size_t first = text_.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text_[first] == '{';
}

bool SourceText::may_be_shell() const {
  return !is_json() && !is_yaml() && extension_ != ".py" && extension_ != ".xml";
}

std::string gpu_in(std::string_view text) {
  const std::string lowercase = base::lowercase(text);
  for (const char* const name : {"gb200", "gb300", "gh200", "b200", "b300", "h200", "h100", "a100",
                                 "v100", "mi300x", "mi355x", "mi250x"})
    if (lowercase.find(name) != std::string::npos) return name;
  return "";
}

Source read_source(const std::string& file) {
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed))
    throw config::Error(fmt::format("{} is a folder", file)).allow("a file of a job");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw config::Error(fmt::format("{} cannot be read", file));
  Source source{.name = file, .text = {}};
  source.text.resize(max_source_bytes + 1);
  stream.read(source.text.data(), static_cast<std::streamsize>(source.text.size()));
  source.text.resize(static_cast<std::size_t>(stream.gcount()));
  if (source.text.size() > max_source_bytes)
    throw config::Error(fmt::format("{} has more than {} bytes, which is too large for a job", file,
                                    max_source_bytes));
  return source;
}

std::optional<Source> find_source(const std::string& written, const std::string& origin) {
  std::error_code failed;
  std::string path = written;
  if (const std::size_t end = path.rfind(unknown_end); end != std::string::npos) {
    path = path.substr(end + 1);
    path.erase(0, path.find_first_not_of('/'));
  }
  if (path.empty()) return std::nullopt;
  std::filesystem::path folder = std::filesystem::absolute(origin).parent_path();
  for (; folder.has_relative_path(); folder = folder.parent_path())
    if (std::filesystem::is_regular_file(folder / path, failed))
      return read_source((folder / path).lexically_normal().string());
  return std::nullopt;
}

}  // namespace pipewright::jobs
