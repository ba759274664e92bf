#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

namespace pipewright::analysis {

// "rank{rank}.json" names every file of its folder with a number there, in order of the numbers; a
// name without {rank} is itself. Throws trace::TraceError if there is none.
std::vector<std::filesystem::path> rank_files(const std::filesystem::path& name);

// Told now and then which share of a file has been read, from 0 to 1.
using ReadProgress = std::function<void(double share)>;

// The text of a file, unpacked on the way if it is gzip, one buffer of it in memory at a time.
// Knows where it is, for messages. Throws trace::TraceError.
class TextSource final : public std::streambuf {
 public:
  explicit TextSource(const std::filesystem::path& path, ReadProgress progress = {});
  ~TextSource() override;
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  const std::string& name() const { return name_; }
  std::uint64_t bytes() const;  // read so far, unpacked
  std::uint64_t line() const;   // of the next character, from 1
  // "FILE: line 3, byte 120", of what was read last.
  std::string place() const;
  // Says that a token ended. A token that never does would fill the memory.
  void mark() { marked_ = bytes(); }

 protected:
  int_type underflow() override;

 private:
  struct Closer {
    void operator()(void* file) const;
  };
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  ReadProgress progress_;
  std::uint64_t size_ = 0;  // of the file, maybe packed
  std::unique_ptr<void, Closer> file_;
  std::array<char, 1U << 18U> buffer_{};
  std::uint64_t before_ = 0;        // bytes of earlier buffers
  std::uint64_t lines_before_ = 0;  // likewise
  std::uint64_t marked_ = 0;
};

}  // namespace pipewright::analysis
