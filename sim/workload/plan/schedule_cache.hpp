#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schedules/families/catalog.hpp"

namespace pipewright::workload {

// Schedules by what they are made of, the last used ones: many scenarios have the same. Schedules
// that are planned for given times are made of these as well.
class ScheduleCache {
 public:
  using Shared = std::shared_ptr<const schedules::Schedule>;

  explicit ScheduleCache(std::size_t most_bytes = std::size_t{128} << 20U) : most_(most_bytes) {}

  // As load_schedule.
  Shared load(const std::string& name, const schedules::Parameters& parameters);

  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    Shared schedule;
    std::size_t bytes = 0;
  };
  std::size_t most_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // the last used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace pipewright::workload
