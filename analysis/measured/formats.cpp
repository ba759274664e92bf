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

bool is_torch_action(const std::string& cell) {
  constexpr std::size_t max_length = 64;
  static const std::regex action(R"(\s*"?\(?\d+(F|I|B|W|UNSHARD|RESHARD|SEND|RECV).*)");
  return cell.size() <= max_length && std::regex_match(cell, action);
}

bool is_torch_schedule(const std::string& line) {
  // Cells at the start of a line are empty for a rank that waits before its first action.
  const std::size_t start = line.find_first_not_of(", \t\r");
  if (start == std::string::npos) return false;
  return is_torch_action(line.substr(start, line.find(',', start) - start));
}

// Tells files that begin as an object of JSON apart by their beginning: those of Primus have
// numbers of iterations as keys, and output of Hugging Face's Trainer has its own keys.
FileKind object_file_kind(std::istream& stream) {
  std::string beginning(256, '\0');
  stream.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  if (is_trainer_output(beginning)) return FileKind::training_log;
  static const std::regex iterations(R"(\{\s*"\d+"\s*:\s*\{)");
  return std::regex_search(beginning, iterations, std::regex_constants::match_continuous)
             ? FileKind::primus_passes
             : FileKind::chrome;
}

}  // namespace

std::string formats_text() {
  std::size_t width = 0;
  for (const InputFormat& format : input_formats) width = std::max(width, format.name.size());
  std::string text;
  for (const InputFormat& format : input_formats)
    text += fmt::format("  {:<{}}  {}\n", format.name, width, format.content);
  return text;
}

FileKind file_kind(const fs::path& file) {
  TextSource source(file);
  std::istream stream(&source);
  stream.exceptions(std::ios::badbit);
  constexpr int hdf5 = 0x89;    // First byte of an HDF5 file: \x89HDF
  constexpr int pickle = 0x80;  // First opcode of a pickle, which gives the protocol.
  if (stream.peek() == hdf5) return FileKind::trace;
  if (stream.peek() == pickle) return FileKind::memory_snapshot;
  stream >> std::ws;
  if (stream.peek() == '{') return object_file_kind(stream);
  if (stream.peek() == '[') {  // Either a list, or a log line with "[2024-05-01 10:00:00]".
    stream.get();
    stream >> std::ws;
    if (stream.peek() == '{' || stream.peek() == ']' || !stream) return FileKind::chrome;
  }
  stream.clear();
  bool is_first = true;
  std::string previous;  // A terminal may have wrapped a line within the text to recognise.
  for (std::string line; std::getline(stream, line); source.mark()) {
    if (is_log_line(line) || is_log_line(previous + line)) return FileKind::training_log;
    previous = line.size() <= widest_terminal ? line : "";
    if (std::exchange(is_first, false) && is_torch_schedule(line)) return FileKind::torch_schedule;
  }
  throw trace::TraceError(
      fmt::format("{}: unknown format; these formats can be read:\n{}lines of logs have one of "
                  "these texts:\n{}",
                  source.name(), formats_text(), log_marks_text()));
}

}  // namespace pipewright::analysis
