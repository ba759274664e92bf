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

// The schedule of a name: of a PyTorch schedule file (.csv), of a building block (.yaml, .yml), or
// else of the catalog; complete, by check_complete. A file of PyTorch says by itself how many
// devices, chunks and microbatches there are; parameters must agree, and 0 devices or microbatches
// say nothing. Throws schedules::Error or config::Error.
schedules::Schedule load_schedule(const std::string& name, const schedules::Parameters& parameters);

// Whether the schedule of that name is planned with the times in its parameters.
std::optional<schedules::Routes> planned_placement(const std::string& name, std::uint32_t devices);

// A file of which nothing can be said, as it cannot be read.
struct CannotRead : schedules::Error {
  using schedules::Error::Error;
};

// Throws schedules::Error, of it CannotRead.
schedules::TorchFile read_torch_file(const std::string& file, bool legacy = false);

// Whether a file of PyTorch that has been read places SEND and RECV, which load_schedule drops.
bool places_transfers(const std::string& file);

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
