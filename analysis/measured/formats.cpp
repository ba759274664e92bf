#include "analysis/measured/formats.hpp"

#include <algorithm>
#include <istream>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "analysis/measured/files/input_file.hpp"
#include "analysis/measured/logs/training_log.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

namespace fs = std::filesystem;

bool is_action(const std::string& cell) {
  constexpr std::size_t longest = 64;
  static const std::regex action(R"(\s*"?\(?\d+(F|I|B|W|UNSHARD|RESHARD|SEND|RECV).*)");
  return cell.size() <= longest && std::regex_match(cell, action);
}

bool is_torch_schedule(const std::string& line) {
  // The first cells may be empty: ranks that wait.
  const std::size_t start = line.find_first_not_of(", \t\r");
  if (start == std::string::npos) return false;
  return is_action(line.substr(start, line.find(',', start) - start));
}

// Whether the first characters of an object are of Primus: its iterations, by number.
FileKind kind_of_object(std::istream& stream) {
  std::string start(256, '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  static const std::regex iterations(R"(\{\s*"\d+"\s*:\s*\{)");
  return std::regex_search(start, iterations, std::regex_constants::match_continuous)
             ? FileKind::primus_passes
             : FileKind::chrome;
}

}  // namespace

std::string formats_text() {
  std::size_t width = 0;
  for (const InputFormat& format : input_formats) width = std::max(width, format.name.size());
  std::string text;
  for (const InputFormat& format : input_formats)
    text += fmt::format("  {:<{}}  {}\n", format.name, width, format.gives);
  return text;
}

FileKind file_kind(const fs::path& file) {
  TextSource source(file);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);
  constexpr int hdf5 = 0x89;    // its signature: \x89HDF
  constexpr int pickle = 0x80;  // opcode of the protocol's number
  if (stream.peek() == hdf5) return FileKind::trace;
  if (stream.peek() == pickle) return FileKind::memory_snapshot;
  stream >> std::ws;
  if (stream.peek() == '{') return kind_of_object(stream);
  if (stream.peek() == '[') {  // of a list, or of a log's "[2024-05-01 10:00:00]"
    stream.get();
    stream >> std::ws;
    if (stream.peek() == '{' || stream.peek() == ']' || !stream) return FileKind::chrome;
  }
  stream.clear();
  bool first = true;
  for (std::string line; std::getline(stream, line); source.mark()) {
    if (is_log_line(line)) return FileKind::training_log;
    if (std::exchange(first, false) && is_torch_schedule(line)) return FileKind::torch_schedule;
  }
  throw trace::TraceError(
      fmt::format("{}: is none of the formats that are read:\n{}", source.name(), formats_text()));
}

}  // namespace pipewright::analysis
