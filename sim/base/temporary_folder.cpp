#include "sim/base/temporary_folder.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace pipewright::base {

TemporaryFolder::TemporaryFolder(std::string_view prefix, std::string_view failure) {
  const std::string pattern = fmt::format("{}XXXXXX", prefix);
  std::string name = (std::filesystem::temp_directory_path() / pattern).string();
  if (mkdtemp(name.data()) == nullptr)
    throw std::runtime_error(fmt::format("{}: {}", name, failure));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pipewright::base
