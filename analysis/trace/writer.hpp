#pragma once

#include <filesystem>
#include <memory>

#include "analysis/trace/sink.hpp"

namespace pipewright::trace {

// A trace file that is being written; what TraceWriter goes through.
class TraceOutput : public Sink {
 public:
  virtual const std::filesystem::path& temporary() const = 0;
};
std::unique_ptr<TraceOutput> make_trace_output(const std::filesystem::path& path);

// Writes a trace to an HDF5 file (format.md) while a run goes on; memory stays at one chunk a
// table.
//
// The file grows under a temporary name in the folder of the final one and takes the final name in
// finish(). So under the final name there is a whole trace, or what was there before, whatever ends
// the process. Without finish() the temporary file is removed. Every failure is a TraceError.
class TraceWriter final : public Sink {
 public:
  explicit TraceWriter(const std::filesystem::path& path) : file_(make_trace_output(path)) {}

  void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
             const std::vector<StageRow>& stages) override {
    file_->begin(run, devices, stages);
  }
  void pass_collective(const PassCollectiveRow& row) override { file_->pass_collective(row); }
  void pass(const PassRow& row) override { file_->pass(row); }
  void transfer(const TransferRow& row) override { file_->transfer(row); }
  void memory(const MemoryRow& row) override { file_->memory(row); }
  void collective(const CollectiveRow& row) override { file_->collective(row); }
  void step(const StepRow& row) override { file_->step(row); }
  bool wants_links() const override { return true; }
  void link(const LinkRow& row) override { file_->link(row); }
  void link_use(const LinkUseRow& row) override { file_->link_use(row); }
  void path(const PathRow& row) override { file_->path(row); }
  void finish() override { file_->finish(); }

  // Where the rows go until finish(): what a handler of a deadly signal should unlink.
  const std::filesystem::path& temporary() const { return file_->temporary(); }

 private:
  std::unique_ptr<TraceOutput> file_;
};

}  // namespace pipewright::trace
