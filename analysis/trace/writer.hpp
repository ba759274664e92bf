#pragma once

#include <filesystem>
#include <memory>

#include "analysis/trace/sink.hpp"

namespace pipewright::trace {

// Writes a trace to an HDF5 file (format.md) while a run goes on; memory stays at one chunk a
// table.
//
// The file grows under a temporary name in the folder of the final one and takes the final name in
// finish(). So under the final name there is a whole trace, or what was there before, whatever ends
// the process. Every failure is a TraceError.
class TraceWriter final : public Sink {
 public:
  explicit TraceWriter(std::filesystem::path path);
  ~TraceWriter() override;  // without finish(): removes the temporary file
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void begin(const RunInfo& run, const std::vector<DeviceRow>& devices,
             const std::vector<StageRow>& stages) override;
  void pass_collective(const PassCollectiveRow& row) override;
  void pass(const PassRow& row) override;
  void transfer(const TransferRow& row) override;
  void memory(const MemoryRow& row) override;
  void collective(const CollectiveRow& row) override;
  void step(const StepRow& row) override;
  bool wants_links() const override { return true; }
  void link(const LinkRow& row) override;
  void link_use(const LinkUseRow& row) override;
  void path(const PathRow& row) override;
  void finish() override;

  // Where the rows go until finish(): what a handler of a deadly signal should unlink.
  const std::filesystem::path& temporary() const;

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace pipewright::trace
