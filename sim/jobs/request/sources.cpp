#include "sim/jobs/request/sources.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "sim/config/text/value.hpp"

namespace pipewright::jobs {
namespace {

constexpr std::size_t most_bytes = 4U << 20U;

}  // namespace

std::string gpu_in(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* const name : {"gb200", "gb300", "gh200", "b200", "b300", "h200", "h100", "a100",
                                 "v100", "mi300x", "mi355x", "mi250x"})
    if (lower.find(name) != std::string::npos) return name;
  return "";
}

Source read_source(const std::string& file) {
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed))
    throw config::Error(fmt::format("{} is a folder; allowed: a file of a job", file));
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw config::Error(fmt::format("{} cannot be read", file));
  Source source{.name = file, .text = {}};
  source.text.resize(most_bytes + 1);
  stream.read(source.text.data(), static_cast<std::streamsize>(source.text.size()));
  source.text.resize(static_cast<std::size_t>(stream.gcount()));
  if (source.text.size() > most_bytes)
    throw config::Error(
        fmt::format("{} has more than {} bytes, far above any job's", file, most_bytes));
  return source;
}

}  // namespace pipewright::jobs
