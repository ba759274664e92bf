#pragma once

#include <filesystem>
#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::test {

// A folder of the test's own, removed with all that is in it.
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

// Rows that make sense within their run and are otherwise random: `passes` passes, as many
// transfers, twice as many memory rows.
trace::Trace random_trace(unsigned seed, std::uint32_t devices, std::size_t passes);

void write_trace(const trace::Trace& trace, const std::filesystem::path& file);

}  // namespace pipewright::test
