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

// Expands a name such as "rank{rank}.json" to all files of its folder with a number in place of
// {rank}, ordered by number. A name without {rank} stays as it is. Throws trace::TraceError if
// there is no such file.
std::vector<std::filesystem::path> rank_files(const std::filesystem::path& name);

// Called from time to time with the share of a file that has been read, from 0 to 1.
using ReadProgress = std::function<void(double share)>;

// Text of a file, one buffer at a time. Files packed by gzip are unpacked on the fly. The source
// knows its position, for messages. Throws trace::TraceError.
class TextSource final : public std::streambuf {
 public:
  explicit TextSource(const std::filesystem::path& path, ReadProgress progress = {});
  ~TextSource() override;
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;

  const std::string& name() const { return name_; }
  std::uint64_t bytes() const;  // Bytes read so far, unpacked.
  std::uint64_t line() const;   // Line of the next character, counted from 1.
  // Position of the last character read: "FILE: line 3, byte 120".
  std::string location() const;
  // Marks the end of a token or line. The bytes since the last call are limited, since a token
  // without an end would fill the memory.
  void mark() { marked_ = bytes(); }

 protected:
  int_type underflow() override;

 private:
  struct Closer {
    void operator()(void* file) const;
  };
  [[noreturn]] void fail(const std::string& message) const;

  std::string name_;
  ReadProgress progress_;
  std::uint64_t size_ = 0;  // Size of the file, which may be packed.
  std::unique_ptr<void, Closer> file_;
  std::array<char, 1U << 18U> buffer_{};
  std::uint64_t bytes_before_ = 0;  // Bytes of earlier buffers.
  std::uint64_t lines_before_ = 0;  // Lines of earlier buffers.
  std::uint64_t marked_ = 0;
};

}  // namespace pipewright::analysis
