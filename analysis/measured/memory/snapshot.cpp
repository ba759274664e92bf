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

double allocator_size(std::int64_t bytes) {
  constexpr std::int64_t step = 512;
  const std::int64_t steps = (std::max<std::int64_t>(bytes, 1) + step - 1) / step;
  return static_cast<double>(steps * step);
}

// Returns the bytes by which an action of the allocator changes the allocated memory. A freed block
// counts as freed at once, even if it waits for a stream.
double allocated_change(std::string_view action, std::int64_t size) {
  if (action == "alloc") return allocator_size(size);
  if (action == "free_requested" || action == "free") return -allocator_size(size);
  return 0;
}

double reserved_change(std::string_view action, std::int64_t size) {
  const auto bytes = static_cast<double>(size);
  if (action == "segment_alloc" || action == "segment_map") return bytes;
  if (action == "segment_free" || action == "segment_unmap") return -bytes;
  return 0;
}

struct AllocatedBlock {
  double bytes = 0;
  std::optional<MemoryCategory> category;
};

class SnapshotReader {
 public:
  explicit SnapshotReader(const std::filesystem::path& file) : pickle_(read_pickle(file)) {
    snapshot_.file = file;
    const PickleValue* const segments = pickle_.find(pickle_.root(), "segments");
    if (segments == nullptr)
      throw trace::TraceError(fmt::format(
          "{}: the pickle has no 'segments'; torch.cuda.memory._dump_snapshot writes them",
          printable(file.string())));
    const std::int64_t device = fullest_device(*segments);
    for (const std::uint32_t index : segments->items) {
      const PickleValue& segment = pickle_.at(index);
      if (pickle_.integer(segment, "device") == device) take_segment(segment);
    }
    take_history(device);
  }

  MemorySnapshot take() { return std::move(snapshot_); }

 private:
  // Returns the GPU on which the process reserved most memory. A process uses one GPU; contexts on
  // other GPUs hold little.
  std::int64_t fullest_device(const PickleValue& segments) const {
    std::map<std::int64_t, std::int64_t> sizes;
    for (const std::uint32_t index : segments.items)
      sizes[pickle_.integer(pickle_.at(index), "device")] +=
          pickle_.integer(pickle_.at(index), "total_size");
    if (sizes.empty()) return 0;
    return std::ranges::max_element(sizes, {}, [](const auto& entry) { return entry.second; })
        ->first;
  }

  void take_segment(const PickleValue& segment) {
    snapshot_.reserved += static_cast<double>(pickle_.integer(segment, "total_size"));
    const PickleValue* const blocks = pickle_.find(segment, "blocks");
    if (blocks == nullptr) return;
    std::int64_t address = pickle_.integer(segment, "address");
    for (const std::uint32_t index : blocks->items) {
      const PickleValue& block = pickle_.at(index);
      const std::int64_t size = pickle_.integer(block, "size");
      if (const std::int64_t block_address = pickle_.integer(block, "address"); block_address != 0)
        address = block_address;
      if (pickle_.text(block, "state") == "active_allocated") {
        snapshot_.allocated += static_cast<double>(size);
        final_blocks_[address] = {static_cast<double>(size), allocation_kind(pickle_, block)};
      }
      address += size;
    }
  }

  const PickleValue* history(std::int64_t device) const {
    const PickleValue* const traces = pickle_.find(pickle_.root(), "device_traces");
    if (traces == nullptr || device < 0 ||
        device >= static_cast<std::int64_t>(traces->items.size()))
      return nullptr;
    const PickleValue& device_trace = pickle_.at(traces->items[static_cast<std::size_t>(device)]);
    return device_trace.items.empty() ? nullptr : &device_trace;
  }

  void take_history(std::int64_t device) {
    const PickleValue* const trace = history(device);
    snapshot_.has_history = trace != nullptr;
    snapshot_.peak_allocated = snapshot_.allocated;
    snapshot_.peak_reserved = snapshot_.reserved;
    std::size_t peak = 0;  // Number of actions that lead to the peak.
    if (trace != nullptr) peak = replay_history(*trace);
    attribute_peak(trace, peak);
  }

  // Computes the memory before the first recorded action from that at the end, going backward, then
  // replays the actions forward. Returns the number of actions that lead to the peak.
  std::size_t replay_history(const PickleValue& trace) {
    double allocated = snapshot_.allocated;
    double reserved = snapshot_.reserved;
    for (const std::uint32_t index : trace.items) {
      const PickleValue& entry = pickle_.at(index);
      allocated -= allocated_change(pickle_.text(entry, "action"), pickle_.integer(entry, "size"));
      reserved -= reserved_change(pickle_.text(entry, "action"), pickle_.integer(entry, "size"));
    }
    snapshot_.peak_allocated = allocated;
    snapshot_.peak_reserved = reserved;
    const std::int64_t start = pickle_.integer(pickle_.at(trace.items.front()), "time_us");
    std::size_t peak = 0;
    for (std::size_t i = 0; i < trace.items.size(); ++i) {
      const PickleValue& entry = pickle_.at(trace.items[i]);
      const std::string_view action = pickle_.text(entry, "action");
      const double change = allocated_change(action, pickle_.integer(entry, "size"));
      allocated += change;
      reserved += reserved_change(action, pickle_.integer(entry, "size"));
      snapshot_.peak_reserved = std::max(snapshot_.peak_reserved, reserved);
      if (change == 0) continue;
      constexpr double microsecond = 1e-6;
      const double time =
          start > 0 ? static_cast<double>(pickle_.integer(entry, "time_us") - start) * microsecond
                    : static_cast<double>(i);
      snapshot_.over_time.push_back({time, allocated});
      if (allocated <= snapshot_.peak_allocated) continue;
      snapshot_.peak_allocated = allocated;
      peak = i + 1;
    }
    return peak;
  }

  // Attributes the blocks at the peak to categories. These are the blocks of the end that were not
  // allocated later, and those that the history allocates before the peak and does not free until
  // then.
  void attribute_peak(const PickleValue* trace, std::size_t peak) {
    std::unordered_map<std::int64_t, AllocatedBlock> blocks = final_blocks_;
    if (trace != nullptr) {
      for (const std::uint32_t index : trace->items)
        if (pickle_.text(pickle_.at(index), "action") == "alloc")
          blocks.erase(pickle_.integer(pickle_.at(index), "addr"));
      for (std::size_t i = 0; i < peak; ++i) {
        const PickleValue& entry = pickle_.at(trace->items[i]);
        const std::string_view action = pickle_.text(entry, "action");
        const std::int64_t size = pickle_.integer(entry, "size");
        if (action == "alloc")
          blocks[pickle_.integer(entry, "addr")] = {allocator_size(size),
                                                    allocation_kind(pickle_, entry)};
        else if (allocated_change(action, size) < 0)
          blocks.erase(pickle_.integer(entry, "addr"));
      }
    }
    double attributed = 0;
    for (const auto& [address, block] : blocks) {
      if (!block.category) continue;
      snapshot_.at_peak[*block.category] += block.bytes;
      attributed += block.bytes;
    }
    snapshot_.unattributed = std::max(0.0, snapshot_.peak_allocated - attributed);
  }

  Pickle pickle_;
  MemorySnapshot snapshot_;
  // Blocks that are allocated at the time of the snapshot, by address.
  std::unordered_map<std::int64_t, AllocatedBlock> final_blocks_;
};

}  // namespace

MemorySnapshot read_snapshot(const std::filesystem::path& file) {
  return SnapshotReader(file).take();
}

}  // namespace pipewright::analysis
