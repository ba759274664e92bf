#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::analysis {

// Brings lines into the order of their times; those of one time stay in the order in which they
// came. Beyond so many bytes they wait in temporary files without names, so that any number of
// lines takes the same memory.
class SortedLines {
 public:
  explicit SortedLines(std::size_t memory_bytes = 64U << 20U) : memory_bytes_(memory_bytes) {}

  void add(std::int64_t time, std::string_view line);
  void write_to(std::ostream& stream);  // all of them, and then there are none

 private:
  struct Line {
    std::int64_t time;
    std::size_t start;  // of its text
    std::size_t size;
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  class Run;

  void sort();
  void spill();

  std::size_t memory_bytes_;
  std::string text_;
  std::vector<Line> lines_;
  std::vector<File> files_;
};

}  // namespace pipewright::analysis
