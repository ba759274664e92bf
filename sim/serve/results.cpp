#include "sim/serve/results.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace pipewright::serve {
namespace {

using std::filesystem::path;

constexpr std::string_view folder_prefix = "pipewright-serve-";
constexpr std::size_t max_results = 12;  // of a tab, besides the stored ones

// Removes the folders of results whose servers no longer run.
void remove_orphans(const path& temporary) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(temporary, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(folder_prefix)) continue;
    pid_t server = 0;
    std::from_chars(name.data() + folder_prefix.size(), name.data() + name.size(), server);
    if (server > 0 && kill(server, 0) != 0 && errno == ESRCH)
      std::filesystem::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Results::Results()
    : folder_(fmt::format("{}{}-", folder_prefix, getpid()), "cannot make a folder for results") {
  remove_orphans(std::filesystem::temp_directory_path());
}

std::string Results::make(const std::string& tab, const std::vector<std::string>& stored) {
  const auto is_stored = [&](const Result& result) {
    return result.tab != tab || std::ranges::find(stored, result.id) != stored.end();
  };
  std::size_t count = 0;
  for (auto it = results_.end(); it != results_.begin();) {
    --it;
    if (is_stored(*it) || ++count < max_results) continue;
    remove(it->id);
    it = results_.erase(it);
  }
  results_.push_back({fmt::format("r{}", ++last_), tab});
  return results_.back().id;
}

void Results::remove(const std::string& id) const {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(id + ".") || name.starts_with(id + "-"))
      std::filesystem::remove(entry.path(), ignored);
  }
}

std::optional<std::string> Results::read(const std::string& name,
                                         std::string_view extension) const {
  if (!name.ends_with(extension) || name.find_first_of("/\\%") != std::string::npos ||
      !name.starts_with('r'))
    return std::nullopt;
  std::ifstream stream(folder() / name, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

}  // namespace pipewright::serve
