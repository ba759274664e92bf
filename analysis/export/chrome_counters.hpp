#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/export/chrome_events.hpp"
#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// The memory of each device by component. Changes at one time are one event, which names all
// components that the device has had so far: viewers that stack them take one that is missing as 0.
class MemoryCounters {
 public:
  explicit MemoryCounters(std::size_t devices) : devices_(devices) {}
  void add(ChromeEvents& events, const trace::MemoryRow& row);
  void finish(ChromeEvents& events);

 private:
  struct Device {
    std::int64_t time = 0;
    bool pending = false;
    std::array<bool, trace::memory_categories> seen{};
    std::array<std::uint64_t, trace::memory_categories> bytes{};
  };
  static void write(ChromeEvents& events, std::uint32_t process, Device& device);

  std::vector<Device> devices_;
};

// Bytes/s on the busiest links by class of traffic. Their pieces of time are few and kept.
class LinkCounters {
 public:
  void add(const trace::LinkRow& row);
  void add(const trace::LinkUseRow& row);
  // In a process of their own, if there are any.
  void finish(ChromeEvents& events, std::uint32_t process) const;

 private:
  using Rates = std::array<double, trace::traffic_classes>;
  struct Link {
    std::string quoted_name;
    std::map<std::int64_t, Rates> changes;  // of the rates, at these times
    std::array<bool, trace::traffic_classes> seen{};
  };
  std::vector<Link> links_;
};

}  // namespace pipewright::analysis
