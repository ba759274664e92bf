#pragma once

#include <filesystem>
#include <memory>

#include "analysis/trace/sink.hpp"

namespace pipewright::trace {

// A sink that writes a trace file; TraceWriter passes its rows on to it.
class TraceOutput : public Sink {
 public:
  virtual const std::filesystem::path& temporary() const = 0;
};
std::unique_ptr<TraceOutput> make_trace_output(const std::filesystem::path& path);

// Writes a trace to an HDF5 file (format.md) during a run, with one chunk of each table in memory.
//
// The file grows under a temporary name in the folder of the final name, which it takes in
// finish(). So the final name always denotes a complete trace or the previous file, no matter how
// the process ends. Without finish() the temporary file is removed. Every failure throws
// TraceError.
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
  void wait(const WaitRow& row) override { file_->wait(row); }
  bool needs_links() const override { return true; }
  void link(const LinkRow& row) override { file_->link(row); }
  void link_use(const LinkUseRow& row) override { file_->link_use(row); }
  void path(const PathRow& row) override { file_->path(row); }
  void finish() override { file_->finish(); }

  // Path of the temporary file that holds the rows until finish(). A handler of a fatal signal
  // should delete it.
  const std::filesystem::path& temporary() const { return file_->temporary(); }

 private:
  std::unique_ptr<TraceOutput> file_;
};

}  // namespace pipewright::trace
