#include "sim/config/text/readable.hpp"

#include <algorithm>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

using std::filesystem::path;

// Folders from which the process may read files for scenarios; without a value: all folders.
std::optional<std::vector<path>>& allowed_folders() {
  static std::optional<std::vector<path>> folders;
  return folders;
}

// Returns the absolute path with all symbolic links resolved; empty if it cannot be determined.
path real_path(const path& file) {
  std::error_code failed;
  path resolved = std::filesystem::weakly_canonical(std::filesystem::absolute(file), failed);
  return failed ? path() : resolved;
}

bool is_within(const path& file, const path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end() && !folder.empty();
}

}  // namespace

void read_only_within(const std::vector<path>& folders) {
  allowed_folders().emplace();
  for (const path& folder : folders) allowed_folders()->push_back(real_path(folder));
}

std::vector<path> readable_folders() { return allowed_folders().value_or(std::vector<path>()); }

void check_readable(const path& file) {
  if (!allowed_folders()) return;
  const path resolved = real_path(file);
  const bool is_inside = std::ranges::any_of(
      *allowed_folders(), [&](const path& folder) { return is_within(resolved, folder); });
  if (!is_inside)
    throw Error(fmt::format("{} lies outside the project folder {}", in_quotes(file.string()),
                            in_quotes(allowed_folders()->front().string())))
        .allow("files in it, and names of the library");
}

void check_readable(const Field& field, const std::filesystem::path& file) {
  try {
    check_readable(file);
  } catch (const Error& error) {
    throw error.within(field.value.origin, field.name);
  }
}

}  // namespace pipewright::config
