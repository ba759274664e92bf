#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/temporary_folder.hpp"

namespace pipewright::serve {

// Stores the pages and traces of runs in a folder that the destructor removes. If a server was
// killed, the next one removes its folder.
class Results {
 public:
  Results();

  const std::filesystem::path& folder() const { return folder_.path(); }

  // Returns a name for a new result of a browser tab, and removes the tab's old results except
  // those in `stored`.
  std::string make(const std::string& tab, const std::vector<std::string>& stored);

  // Returns the content of a stored file such as "r12.html" or "r12-0.h5"; nothing if there is none
  // or its extension differs.
  std::optional<std::string> read(const std::string& name, std::string_view extension) const;

 private:
  struct Result {
    std::string id;
    std::string tab;
  };
  void remove(const std::string& id) const;

  base::TemporaryFolder folder_;
  std::uint64_t last_ = 0;
  std::list<Result> results_;
};

}  // namespace pipewright::serve
