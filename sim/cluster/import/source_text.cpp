#include "sim/cluster/import/source_text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::size_t max_bytes = 256U << 20U;  // 100,000 ports of ibnetdiscover are 20 MB
constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::string_view supported_files =
    "NCCL's topology XML, 'nvidia-smi topo -m', 'ibnetdiscover', Slurm's topology.conf and "
    "topology.yaml";

}  // namespace

std::string SourceText::location(int line) const { return fmt::format("{}:{}", name, line); }

void SourceText::fail(int line, const Error& error) const {
  throw error.at({.source = name, .line = line});
}

SourceText read_source(const std::filesystem::path& path) {
  std::error_code ignored;
  SourceText source{.name = path.string(), .text = {}};
  if (!std::filesystem::exists(path, ignored)) throw Error(path, 0, "no such file");
  if (std::filesystem::is_directory(path, ignored))
    throw Error(path, 0, "is a directory").suggest("name the files in it");
  std::ifstream stream(path, std::ios::binary);
  std::array<char, 1U << 16U> buffer{};
  while (stream.good() && source.text.size() <= max_bytes) {
    stream.read(buffer.data(), buffer.size());
    source.text.append(buffer.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.eof() && source.text.size() <= max_bytes) throw Error(path, 0, std::strerror(errno));
  if (source.text.size() > max_bytes)
    throw Error(path, 0, "is larger than 256 MiB, which is the limit").allow(supported_files);
  if (source.text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw Error(path, 0, "is empty").allow(supported_files);
  if (const std::size_t at = source.text.find('\0'); at != std::string::npos)
    source.fail(
        1 + static_cast<int>(std::count(
                source.text.begin(), source.text.begin() + static_cast<std::ptrdiff_t>(at), '\n')),
        Error("contains bytes that are not text").allow(supported_files));
  return source;
}

std::vector<std::string> lines_of(const SourceText& source) {
  std::vector<std::string> lines(1);
  const std::string& text = source.text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      lines.emplace_back();
    } else if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      for (i += 2; i < text.size() && text[i] != '\n' && (text[i] < '@' || text[i] > '~');) ++i;
      if (i < text.size() && text[i] == '\n') --i;
    } else if (text[i] != '\r') {
      lines.back() += text[i];
    }
  }
  return lines;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(blanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::string rate_text(double bytes_per_second) {
  return fmt::format("{:.6g} GB/s", bytes_per_second / 1e9);
}

double payload_of(double nominal) { return nominal * (nominal <= 25e9 ? 0.96 : 0.94); }

}  // namespace pipewright::cluster
