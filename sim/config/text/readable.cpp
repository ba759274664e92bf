#include "sim/config/text/readable.hpp"

#include <algorithm>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

using std::filesystem::path;

std::optional<std::vector<path>>& allowed() {
  static std::optional<std::vector<path>> folders;
  return folders;
}

// With all links followed, of what is there.
path real(const path& file) {
  std::error_code failed;
  path found = std::filesystem::weakly_canonical(std::filesystem::absolute(file), failed);
  return failed ? path() : found;
}

bool is_within(const path& file, const path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return end == folder.end() && !folder.empty();
}

}  // namespace

void read_only_within(const std::vector<path>& folders) {
  allowed().emplace();
  for (const path& folder : folders) allowed()->push_back(real(folder));
}

void check_readable(const path& file) {
  if (!allowed()) return;
  const path found = real(file);
  const bool inside =
      std::ranges::any_of(*allowed(), [&](const path& folder) { return is_within(found, folder); });
  if (!inside)
    throw Error(
        fmt::format("{} lies outside the project folder {}; allowed: files in it, and names "
                    "of the library",
                    in_quotes(file.string()), in_quotes(allowed()->front().string())));
}

void check_readable(const Field& field, const std::filesystem::path& file) {
  try {
    check_readable(file);
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", subject(field), error.what()));
  }
}

}  // namespace pipewright::config
