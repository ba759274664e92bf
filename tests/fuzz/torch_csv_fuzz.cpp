// Fuzzes the reader of PyTorch schedule files: any content gives either an error or a schedule that
// is the same after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "schedules/text/torch_check.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_lowering.hpp"
#include "schedules/text/torch_receives.hpp"

using namespace pipewright::schedules;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_comes_back(const TorchFile& file) {
  const bool comms = file.form == TorchForm::compute_comms;
  const std::string text = comms ? to_torch_csv(file.rows) : to_torch_csv(file.schedule);
  const TorchFile again = read_torch_csv(text, "again.csv");
  require(again.form == file.form && again.rows == file.rows);
  require(again.schedule.microbatches == file.schedule.microbatches);
  require(again.schedule.chunks == file.schedule.chunks);
  require(torch_passes(again.schedule) == torch_passes(file.schedule));
}

// Checks that timing ends, with a makespan or by detecting a deadlock, and that the run never gets
// faster if receives have to complete in order, per pair of ranks or per rank.
void check_runs(const TorchFile& file) {
  PassTimes times;
  for (auto& of_stage : times.of_stage) of_stage.assign(file.schedule.stages(), 1);
  const bool comms = file.form == TorchForm::compute_comms;
  const TorchRows rows = comms ? file.rows : lower(file.schedule, Receives::at_send);
  const bool swaps = first_swap(rows, file.schedule.routes).has_value();
  require(comms || !swaps);
  const auto makespan = [&](ReceiveQueue queue) {
    return time_receives(rows, file.schedule, times, 0.5, queue).makespan;
  };
  require(makespan(ReceiveQueue::none) <= makespan(ReceiveQueue::of_pair));
  require(makespan(ReceiveQueue::of_pair) <= makespan(ReceiveQueue::of_rank));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool legacy = text.front() == 'L';  // the rest is the file
  try {
    const TorchFile file = read_torch_csv(legacy ? text.substr(1) : text, "fuzz.csv", legacy);
    check_comes_back(file);
    check_runs(file);
  } catch (const Error&) {
  }
  return 0;
}
