#include "analysis/measured/memory/snapshot.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "analysis/measured/memory/allocation_kind.hpp"
#include "analysis/measured/memory/pickle.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

using trace::MemoryCategory;

double rounded(std::int64_t bytes) {
  constexpr std::int64_t step = 512;
  const std::int64_t steps = (std::max<std::int64_t>(bytes, 1) + step - 1) / step;
  return static_cast<double>(steps * step);
}

// What an action adds to what is handed out; what was freed and waits for a stream is not.
double handed_out(std::string_view action, std::int64_t size) {
  if (action == "alloc") return rounded(size);
  if (action == "free_requested" || action == "free") return -rounded(size);
  return 0;
}

double reserves(std::string_view action, std::int64_t size) {
  const auto bytes = static_cast<double>(size);
  if (action == "segment_alloc" || action == "segment_map") return bytes;
  if (action == "segment_free" || action == "segment_unmap") return -bytes;
  return 0;
}

struct Block {
  double bytes = 0;
  std::optional<MemoryCategory> category;
};

class SnapshotReader {
 public:
  explicit SnapshotReader(const std::filesystem::path& file) : pickle_(read_pickle(file)) {
    found_.file = file;
    const PickleValue* const segments = pickle_.find(pickle_.root(), "segments");
    if (segments == nullptr)
      throw trace::TraceError(fmt::format(
          "{}: is a pickle without 'segments'; torch.cuda.memory._dump_snapshot writes them",
          printable(file.string())));
    const std::int64_t device = fullest(*segments);
    for (const std::uint32_t place : segments->items) {
      const PickleValue& segment = pickle_.at(place);
      if (pickle_.integer(segment, "device") == device) take_segment(segment);
    }
    take_history(device);
  }

  MemorySnapshot take() { return std::move(found_); }

 private:
  // A process has one GPU; contexts on others hold little.
  std::int64_t fullest(const PickleValue& segments) const {
    std::map<std::int64_t, std::int64_t> sizes;
    for (const std::uint32_t place : segments.items)
      sizes[pickle_.integer(pickle_.at(place), "device")] +=
          pickle_.integer(pickle_.at(place), "total_size");
    if (sizes.empty()) return 0;
    return std::ranges::max_element(sizes, {}, [](const auto& one) { return one.second; })->first;
  }

  void take_segment(const PickleValue& segment) {
    found_.reserved += static_cast<double>(pickle_.integer(segment, "total_size"));
    const PickleValue* const blocks = pickle_.find(segment, "blocks");
    if (blocks == nullptr) return;
    std::int64_t address = pickle_.integer(segment, "address");
    for (const std::uint32_t place : blocks->items) {
      const PickleValue& block = pickle_.at(place);
      const std::int64_t size = pickle_.integer(block, "size");
      if (const std::int64_t own = pickle_.integer(block, "address"); own != 0) address = own;
      if (pickle_.text(block, "state") == "active_allocated") {
        found_.allocated += static_cast<double>(size);
        last_[address] = {static_cast<double>(size), allocation_kind(pickle_, block)};
      }
      address += size;
    }
  }

  const PickleValue* history(std::int64_t device) const {
    const PickleValue* const traces = pickle_.find(pickle_.root(), "device_traces");
    if (traces == nullptr || device < 0 ||
        device >= static_cast<std::int64_t>(traces->items.size()))
      return nullptr;
    const PickleValue& own = pickle_.at(traces->items[static_cast<std::size_t>(device)]);
    return own.items.empty() ? nullptr : &own;
  }

  void take_history(std::int64_t device) {
    const PickleValue* const trace = history(device);
    found_.has_history = trace != nullptr;
    found_.peak_allocated = found_.allocated;
    found_.peak_reserved = found_.reserved;
    std::size_t peak = 0;  // so many actions lead to it
    if (trace != nullptr) peak = follow(*trace);
    tell_peak(trace, peak);
  }

  // From the end, which is known, back to the start, and forth again.
  std::size_t follow(const PickleValue& trace) {
    double allocated = found_.allocated;
    double reserved = found_.reserved;
    for (const std::uint32_t place : trace.items) {
      const PickleValue& entry = pickle_.at(place);
      allocated -= handed_out(pickle_.text(entry, "action"), pickle_.integer(entry, "size"));
      reserved -= reserves(pickle_.text(entry, "action"), pickle_.integer(entry, "size"));
    }
    found_.peak_allocated = allocated;
    found_.peak_reserved = reserved;
    const std::int64_t start = pickle_.integer(pickle_.at(trace.items.front()), "time_us");
    std::size_t peak = 0;
    for (std::size_t i = 0; i < trace.items.size(); ++i) {
      const PickleValue& entry = pickle_.at(trace.items[i]);
      const std::string_view action = pickle_.text(entry, "action");
      const double change = handed_out(action, pickle_.integer(entry, "size"));
      allocated += change;
      reserved += reserves(action, pickle_.integer(entry, "size"));
      found_.peak_reserved = std::max(found_.peak_reserved, reserved);
      if (change == 0) continue;
      constexpr double microsecond = 1e-6;
      const double time =
          start > 0 ? static_cast<double>(pickle_.integer(entry, "time_us") - start) * microsecond
                    : static_cast<double>(i);
      found_.over_time.push_back({time, allocated});
      if (allocated <= found_.peak_allocated) continue;
      found_.peak_allocated = allocated;
      peak = i + 1;
    }
    return peak;
  }

  // Blocks of the peak: those of the end that were not allocated later, and those that the history
  // allocates before the peak and does not free until then.
  void tell_peak(const PickleValue* trace, std::size_t peak) {
    std::unordered_map<std::int64_t, Block> held = last_;
    if (trace != nullptr) {
      for (const std::uint32_t place : trace->items)
        if (pickle_.text(pickle_.at(place), "action") == "alloc")
          held.erase(pickle_.integer(pickle_.at(place), "addr"));
      for (std::size_t i = 0; i < peak; ++i) {
        const PickleValue& entry = pickle_.at(trace->items[i]);
        const std::string_view action = pickle_.text(entry, "action");
        const std::int64_t size = pickle_.integer(entry, "size");
        if (action == "alloc")
          held[pickle_.integer(entry, "addr")] = {rounded(size), allocation_kind(pickle_, entry)};
        else if (handed_out(action, size) < 0)
          held.erase(pickle_.integer(entry, "addr"));
      }
    }
    double told = 0;
    for (const auto& [address, block] : held) {
      if (!block.category) continue;
      found_.at_peak[*block.category] += block.bytes;
      told += block.bytes;
    }
    found_.untold = std::max(0.0, found_.peak_allocated - told);
  }

  Pickle pickle_;
  MemorySnapshot found_;
  std::unordered_map<std::int64_t, Block> last_;  // by address, when the snapshot was taken
};

}  // namespace

MemorySnapshot read_snapshot(const std::filesystem::path& file) {
  return SnapshotReader(file).take();
}

}  // namespace pipewright::analysis
