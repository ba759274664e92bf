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

// Pages and traces of runs, in a folder that the destructor removes. The next server removes the
// folder of one that was killed.
class Results {
 public:
  Results();

  const std::filesystem::path& folder() const { return folder_.path(); }

  // Returns the name of a new result of a tab, and removes its old results except those in
  // `stored`.
  std::string make(const std::string& tab, const std::vector<std::string>& stored);

  // Content of "r12.html" or "r12-0.h5", if the file exists and has this extension.
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
