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
// entry of the catalog. The name and parameters must have passed check_complete. A PyTorch file
// determines the numbers of devices, chunks and microbatches, with which `parameters` must agree; 0
// devices or microbatches agree with any number. Throws schedules::Error or config::Error.
schedules::Schedule load_schedule(const std::string& name, const schedules::Parameters& parameters);

// Returns the placement of a catalog schedule whose order is planned with the pass times in its
// parameters; empty for any other schedule.
std::optional<schedules::Routes> planned_placement(const std::string& name, std::uint32_t devices);

// Error that a schedule file cannot be opened or read.
struct CannotRead : schedules::Error {
  using schedules::Error::Error;
};

// Reads a PyTorch schedule file. Throws schedules::Error, and CannotRead if the file cannot be
// read.
schedules::TorchFile read_torch_file(const std::string& file, bool legacy = false);

// Returns whether a PyTorch schedule file that can be read contains SEND and RECV actions, which
// load_schedule leaves out.
bool places_transfers(const std::string& file);

// Cache of the most recently used schedules, since many scenarios share one. Its keys are the
// parameters that a schedule depends on, including pass times if its order is planned with them.
class ScheduleCache {
 public:
  using Shared = std::shared_ptr<const schedules::Schedule>;

  explicit ScheduleCache(std::size_t capacity = std::size_t{128} << 20U) : capacity_(capacity) {}

  // Returns the schedule that load_schedule returns, from the cache if it is there.
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
