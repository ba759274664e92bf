#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "analysis/measured/compare/snapshot_comparison.hpp"
#include "analysis/measured/memory/snapshot.hpp"
#include "tests/analysis/report/runs.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using analysis::MemoryError;
using analysis::MemorySnapshot;
using trace::MemoryCategory;

namespace {

constexpr double mib = 1024.0 * 1024;

// Writes values as a pickle of protocol 2.
std::string pickled(const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string bytes = "X";
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>((size >> (8 * i)) & 0xFFU);
  return bytes + text;
}
std::string pickled(std::int64_t number) {
  std::string bytes = "\x8a\x08";
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>((static_cast<std::uint64_t>(number) >> (8 * i)) & 0xFFU);
  return bytes;
}
std::string list_of(const std::vector<std::string>& items) {
  std::string bytes = "](";
  for (const std::string& item : items) bytes += item;
  return bytes + "e";
}
std::string map_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes = "}(";
  for (const auto& [key, value] : entries) bytes += pickled(key) + value;
  return bytes + "u";
}

// Purpose of an allocation, as its stack tells it.
struct Frame {
  std::string file;
  std::string function;
};
const Frame module{"torch/nn/modules/linear.py", "__init__"};
const Frame forward{"model.py", "forward"};
const Frame accumulate{"", "torch::autograd::AccumulateGrad::apply"};
const Frame step{"torch/optim/adam.py", "_init_group"};
const Frame unknown{"", ""};

// Memory of a process whose allocations are recorded after a call of record().
class Process {
 public:
  void allocate(std::int64_t address, double mebibytes, const Frame& frame) {
    const auto bytes = static_cast<std::int64_t>(mebibytes * mib);
    blocks_.push_back({address, bytes, is_recording_ ? frame : unknown});
    if (is_recording_) actions_.push_back(action("alloc", address, bytes, frame));
  }
  void free(std::int64_t address) {
    const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&](const Block& b) { return b.address == address; });
    REQUIRE(block != blocks_.end());
    if (is_recording_) {
      actions_.push_back(action("free_requested", address, block->bytes, unknown));
      actions_.push_back(action("free_completed", address, block->bytes, unknown));
    }
    blocks_.erase(block);
  }
  void record() { is_recording_ = true; }

  MemorySnapshot snapshot() const {
    const test::ScratchFolder folder;
    return analysis::read_snapshot(write(folder / "s.pickle"));
  }
  std::vector<MemoryError> compared_with(const trace::Trace& predicted,
                                         std::vector<std::string>& notes) const {
    const test::ScratchFolder folder;
    const auto result =
        compare_snapshots(analysis::figures_of(predicted, "p"), {write(folder / "s.pickle")});
    notes = result.notes;
    return result.memory;
  }

 private:
  struct Block {
    std::int64_t address;
    std::int64_t bytes;
    Frame frame;
  };
  static std::string frames(const Frame& frame) {
    if (frame.file.empty() && frame.function.empty()) return list_of({});
    return list_of({map_of({{"filename", pickled(frame.file)},
                            {"name", pickled(frame.function)},
                            {"line", pickled(std::int64_t{1})}})});
  }
  static std::string action(const std::string& name, std::int64_t address, std::int64_t bytes,
                            const Frame& frame) {
    return map_of({{"action", pickled(name)},
                   {"addr", pickled(address)},
                   {"size", pickled(bytes)},
                   {"frames", frames(frame)}});
  }
  std::filesystem::path write(const std::filesystem::path& file) const {
    std::vector<std::string> blocks;
    for (const Block& block : blocks_)
      blocks.push_back(map_of({{"address", pickled(block.address)},
                               {"size", pickled(block.bytes)},
                               {"state", pickled(std::string("active_allocated"))},
                               {"frames", frames(block.frame)}}));
    const std::string segment = map_of({{"device", pickled(std::int64_t{0})},
                                        {"address", pickled(std::int64_t{1})},
                                        {"total_size", pickled(std::int64_t{1} << 30)},
                                        {"blocks", list_of(blocks)}});
    test::write_bytes(file, std::string("\x80\x02") +
                                map_of({{"segments", list_of({segment})},
                                        {"device_traces", list_of({list_of(actions_)})}}) +
                                ".");
    return file;
  }

  std::vector<Block> blocks_;
  std::vector<std::string> actions_;
  bool is_recording_ = false;
};

// A first step of Adam: 10 MiB of weights exist, 6 MiB of activations and 10 MiB of gradients come
// and go, and the optimizer creates 20 MiB of state, with 5 MiB of temporary tensors.
Process first_step() {
  Process process;
  process.allocate(100, 10, module);
  process.record();
  process.allocate(200, 6, forward);
  process.allocate(300, 10, accumulate);
  process.free(200);
  process.allocate(400, 20, step);
  process.allocate(500, 5, step);
  process.free(500);
  process.free(300);
  return process;
}

trace::Trace predicted_run() {
  trace::Trace predicted = test::two_device_run();
  predicted.memory.clear();
  const auto hold = [&](MemoryCategory category, double time, double mebibytes) {
    predicted.memory.push_back({0, category, time, static_cast<std::uint64_t>(mebibytes * mib)});
  };
  hold(MemoryCategory::weights, 0, 10);
  hold(MemoryCategory::optimizer, 0, 20);
  hold(MemoryCategory::activations, 1, 6);
  hold(MemoryCategory::activations, 2, 0);
  hold(MemoryCategory::gradients, 3, 12);
  return predicted;
}

const MemoryError* row_of(const std::vector<MemoryError>& rows, const std::string& part) {
  for (const MemoryError& row : rows)
    if (row.part == part) return &row;
  return nullptr;
}

}  // namespace

TEST_CASE("a recording of the first step knows what existed before", "[import]") {
  const MemorySnapshot snapshot = first_step().snapshot();
  CHECK(snapshot.begin == 10 * mib);
  CHECK(snapshot.allocated == 30 * mib);
  CHECK(snapshot.from_before == 10 * mib);
  // The recorded peak is in the optimizer's step: weights, gradients, state, temporary tensors.
  CHECK(snapshot.peak_allocated == 45 * mib);
  CHECK(snapshot.at_peak.at(MemoryCategory::optimizer) == 20 * mib);
  CHECK(snapshot.at_peak.count(MemoryCategory::activations) == 0);
  // Later backward passes have the state as well: 10 + 6 + 10 + 20 MiB.
  CHECK(snapshot.later_peak == 46 * mib);
  // Each component has its own maximum.
  CHECK(snapshot.most.at(MemoryCategory::activations) == 6 * mib);
  CHECK(snapshot.most.at(MemoryCategory::gradients) == 10 * mib);
  CHECK(snapshot.most.at(MemoryCategory::optimizer) == 20 * mib);
}

TEST_CASE("components of a recording are compared by their own maxima", "[import]") {
  std::vector<std::string> notes;
  const std::vector<MemoryError> rows = first_step().compared_with(predicted_run(), notes);
  const auto values = [&](const std::string& part) {
    const MemoryError* const row = row_of(rows, part);
    CAPTURE(part);
    REQUIRE(row != nullptr);
    return std::pair(row->predicted.value_or(-mib) / mib, row->measured.value_or(-mib) / mib);
  };
  using Values = std::pair<double, double>;
  CHECK(values("from before the recording") == Values{10, 10});
  CHECK(values("held when recording began") == Values{-1, 10});
  CHECK(values("activations") == Values{6, 6});
  CHECK(values("gradients") == Values{12, 10});
  CHECK(values("optimizer") == Values{20, 20});
  CHECK(values("peak allocated") == Values{42, 46});
  REQUIRE(notes.size() == 2);
  CHECK_THAT(notes[0], Catch::Contains("recorded peak is 45.0 MiB") &&
                           Catch::Contains("with this state, as in later iterations, it is 46.0"));
  CHECK_THAT(notes[1], Catch::Contains("10.0 MiB were allocated before the recording began"));
}

TEST_CASE("buffers of gradients and state from before a recording are one component", "[import]") {
  // Megatron-LM allocates weights, a gradient buffer and the optimizer's state at the start.
  Process process;
  process.allocate(100, 10, module);
  process.allocate(200, 20, accumulate);
  process.allocate(300, 40, step);
  process.record();
  process.allocate(400, 6, forward);
  process.free(400);
  const MemorySnapshot snapshot = process.snapshot();
  CHECK(snapshot.from_before == 70 * mib);
  CHECK(snapshot.begin == snapshot.allocated);
  CHECK(snapshot.later_peak == 76 * mib);
  std::vector<std::string> notes;
  const auto rows = process.compared_with(predicted_run(), notes);
  // Predicted: 10 MiB of weights, 12 of gradients, 20 of optimizer state.
  CHECK(row_of(rows, "from before the recording")->predicted == 42 * mib);
  CHECK(row_of(rows, "held when recording began") == nullptr);
  CHECK(row_of(rows, "optimizer") == nullptr);
}

TEST_CASE("a block from before that is freed and allocated again counts once", "[import]") {
  Process process;
  process.allocate(100, 10, module);
  process.allocate(200, 8, accumulate);
  process.record();
  process.free(200);
  process.allocate(200, 4, forward);
  process.free(200);
  process.allocate(200, 8, accumulate);
  const MemorySnapshot snapshot = process.snapshot();
  CHECK(snapshot.begin == 18 * mib);
  CHECK(snapshot.allocated == 18 * mib);
  CHECK(snapshot.from_before == 10 * mib);
  CHECK(snapshot.peak_allocated == 18 * mib);
  CHECK(snapshot.most.at(MemoryCategory::gradients) == 8 * mib);
  CHECK(snapshot.most.at(MemoryCategory::activations) == 4 * mib);
}
