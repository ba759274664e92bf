#pragma once

#include <filesystem>
#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::test {

// A temporary folder of a test, which is removed with its content.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::size_t entries() const;

 private:
  std::filesystem::path path_;
};

std::string bytes_of(const std::filesystem::path& file);
void write_bytes(const std::filesystem::path& file, const std::string& bytes);

// Returns rows that are consistent with their run and otherwise random: `passes` passes, as many
// transfers, and twice as many memory rows.
trace::Trace random_trace(unsigned seed, std::uint32_t devices, std::size_t passes);

void write_trace(const trace::Trace& trace, const std::filesystem::path& file);

}  // namespace pipewright::test
