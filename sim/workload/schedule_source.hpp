#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"

namespace pipewright::workload {

// Loads the schedule `name`: a PyTorch schedule file (.csv), a building block (.yaml, .yml) or an
// entry of the catalog. check_complete has accepted it. A PyTorch file determines the numbers of
// devices, chunks and microbatches, with which `parameters` must agree; 0 devices or microbatches
// agree with any number. Throws schedules::Error or config::Error.
schedules::Schedule load_schedule(const std::string& name, const schedules::Parameters& parameters);

// Placement of a catalog schedule that is planned with the times in its parameters; empty for any
// other schedule.
std::optional<schedules::Routes> planned_placement(const std::string& name, std::uint32_t devices);

// Error of a schedule file that cannot be read.
struct CannotRead : schedules::Error {
  using schedules::Error::Error;
};

// Throws schedules::Error, and CannotRead if the file cannot be read.
schedules::TorchFile read_torch_file(const std::string& file, bool legacy = false);

// Returns whether a readable PyTorch file contains SEND and RECV actions, which load_schedule
// drops.
bool places_transfers(const std::string& file);

// Cache of the schedules that were used last, since many scenarios share one. Its keys are the
// parameters that a schedule depends on, including times for a schedule that is planned with them.
class ScheduleCache {
 public:
  using Shared = std::shared_ptr<const schedules::Schedule>;

  explicit ScheduleCache(std::size_t capacity = std::size_t{128} << 20U) : capacity_(capacity) {}

  // Returns the schedule that load_schedule returns.
  Shared load(const std::string& name, const schedules::Parameters& parameters);

  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    Shared schedule;
    std::size_t bytes = 0;
  };
  std::size_t capacity_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

}  // namespace pipewright::workload
