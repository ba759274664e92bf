#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::serve {

// Pages and traces of runs, in a folder that goes with this object. Those of a server that was
// killed go when the next one starts.
class Results {
 public:
  Results();
  ~Results();
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

  // The name of a new result of a tab. Of that tab's, the newest and those in `kept` stay.
  std::string make(const std::string& tab, const std::vector<std::string>& kept);

  // The content of "r12.html" or "r12-0.h5", where it is there and ends so.
  std::optional<std::string> read(const std::string& name, std::string_view extension) const;

 private:
  struct Result {
    std::string id;
    std::string tab;
  };
  void remove(const std::string& id) const;

  std::filesystem::path folder_;
  std::uint64_t last_ = 0;
  std::list<Result> results_;
};

}  // namespace pipewright::serve
