#include "analysis/measured/memory/snapshot.hpp"

#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

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

// A recorded action of the allocator, with the bytes by which it changes the memory.
struct Action {
  std::int64_t address = 0;
  std::int64_t time_us = 0;
  double allocated = 0;
  double reserved = 0;
  std::optional<MemoryCategory> category = {};  // Of an allocation.
  bool is_state = false;  // Whether it allocates optimizer state that remains until the end.
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
    snapshot_.begin = snapshot_.peak_allocated = snapshot_.allocated;
    snapshot_.peak_reserved = snapshot_.reserved;
    if (trace != nullptr) read_actions(*trace);
    go_back_to_begin();
    snapshot_.peak_allocated = snapshot_.later_peak = snapshot_.begin;
    for (const auto& [address, block] : blocks_) count(block, 1);
    snapshot_.at_peak = snapshot_.most;
    snapshot_.later_peak += state_to_come_;
    replay_actions();
    double attributed = 0;
    for (const auto& [category, bytes] : snapshot_.at_peak) attributed += bytes;
    snapshot_.unattributed = std::max(0.0, snapshot_.peak_allocated - attributed);
  }

  // Reads the actions of the history, and decides which allocations of an optimizer are state:
  // those that are the last at the address of a block of the end.
  void read_actions(const PickleValue& trace) {
    for (const std::uint32_t index : trace.items) {
      const PickleValue& entry = pickle_.at(index);
      const std::string_view action = pickle_.text(entry, "action");
      const std::int64_t size = pickle_.integer(entry, "size");
      Action next{.address = pickle_.integer(entry, "addr"),
                  .time_us = pickle_.integer(entry, "time_us"),
                  .allocated = allocated_change(action, size),
                  .reserved = reserved_change(action, size)};
      if (next.allocated > 0) next.category = allocation_kind(pickle_, entry);
      actions_.push_back(next);
    }
    std::unordered_set<std::int64_t> surviving;
    for (const auto& [address, block] : final_blocks_) surviving.insert(address);
    for (Action& action : actions_ | std::views::reverse) {
      if (action.allocated == 0) continue;
      const bool is_last = surviving.erase(action.address) > 0;
      if (action.allocated < 0 || action.category != MemoryCategory::optimizer) continue;
      action.is_state = is_last;
      if (!is_last) action.category.reset();
      if (is_last) state_to_come_ += action.allocated;
    }
  }

  // Computes what was allocated before the first recorded action from what is allocated at the end.
  // Blocks that were allocated before and freed during the recording have no stack.
  void go_back_to_begin() {
    double reserved = snapshot_.reserved;
    for (const Action& action : actions_) {
      snapshot_.begin -= action.allocated;
      reserved -= action.reserved;
    }
    snapshot_.peak_reserved = reserved;
    blocks_ = final_blocks_;
    for (const Action& action : actions_)
      if (action.allocated > 0) blocks_.erase(action.address);
    if (!snapshot_.has_history) return;
    for (const auto& [address, block] : blocks_)
      if (!block.category) snapshot_.from_before += block.bytes;
  }

  void replay_actions() {
    double allocated = snapshot_.begin;
    double reserved = snapshot_.peak_reserved;
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const Action& action = actions_[i];
      allocated += action.allocated;
      reserved += action.reserved;
      snapshot_.peak_reserved = std::max(snapshot_.peak_reserved, reserved);
      if (action.allocated == 0) continue;
      apply(action);
      snapshot_.over_time.push_back({time_of(i), allocated});
      snapshot_.later_peak = std::max(snapshot_.later_peak, allocated + state_to_come_);
      if (allocated <= snapshot_.peak_allocated) continue;
      snapshot_.peak_allocated = allocated;
      snapshot_.at_peak = present(held_);
    }
  }

  // Returns the time of an action since the first, or its number if the history has no times.
  double time_of(std::size_t number) const {
    constexpr double microsecond = 1e-6;
    const std::int64_t start = actions_.front().time_us;
    return start > 0 ? static_cast<double>(actions_[number].time_us - start) * microsecond
                     : static_cast<double>(number);
  }

  void apply(const Action& action) {
    if (const auto freed = blocks_.find(action.address); freed != blocks_.end()) {
      count(freed->second, -1);
      blocks_.erase(freed);
    }
    if (action.allocated < 0) return;
    const AllocatedBlock block{action.allocated, action.category};
    blocks_[action.address] = block;
    count(block, 1);
    if (action.is_state) state_to_come_ -= action.allocated;
  }

  // Adds the bytes of a block to its category, or subtracts them.
  void count(const AllocatedBlock& block, double sign) {
    if (!block.category) return;
    double& bytes = held_[*block.category];
    bytes += sign * block.bytes;
    double& most = snapshot_.most[*block.category];
    most = std::max(most, bytes);
  }

  // Leaves out categories without bytes.
  static std::map<MemoryCategory, double> present(std::map<MemoryCategory, double> bytes) {
    std::erase_if(bytes, [](const auto& entry) { return entry.second <= 0; });
    return bytes;
  }

  Pickle pickle_;
  MemorySnapshot snapshot_;
  // Blocks that are allocated at the time of the snapshot, by address.
  std::unordered_map<std::int64_t, AllocatedBlock> final_blocks_;
  std::vector<Action> actions_;
  // Blocks that are allocated after the action that was replayed last, and their bytes by category.
  std::unordered_map<std::int64_t, AllocatedBlock> blocks_;
  std::map<MemoryCategory, double> held_;
  double state_to_come_ = 0;  // Bytes of optimizer state that later actions allocate.
};

}  // namespace

MemorySnapshot read_snapshot(const std::filesystem::path& file) {
  return SnapshotReader(file).take();
}

}  // namespace pipewright::analysis
