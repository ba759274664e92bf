#include "analysis/report/export/text_out.hpp"

#include <algorithm>
#include <cerrno>
#include <queue>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "analysis/trace/error.hpp"

namespace pipewright::analysis {
namespace {

[[noreturn]] void fail_temporary_file(const char* action) {
  throw trace::TraceError(fmt::format("a temporary file cannot be {}: {}", action,
                                      std::generic_category().message(errno)));
}

struct LineHead {
  std::int64_t time;
  std::size_t size;
};

void write_bytes(std::FILE* file, const void* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, file) != size) fail_temporary_file("written");
}

}  // namespace

// A temporary file of sorted lines that is read back. The next line is already in memory.
class SortedLines::Run {
 public:
  explicit Run(std::FILE* file) : file_(file) { std::rewind(file_); }

  bool next() {
    LineHead head{};
    if (std::fread(&head, sizeof head, 1, file_) != 1) {
      if (std::ferror(file_) != 0) fail_temporary_file("read");
      return false;
    }
    time = head.time;
    line.resize(head.size);
    if (std::fread(line.data(), 1, head.size, file_) != head.size) fail_temporary_file("read");
    return true;
  }

  std::int64_t time = 0;
  std::string line;

 private:
  std::FILE* file_;
};

void SortedLines::add(std::int64_t time, std::string_view line) {
  if (text_.size() + line.size() + (lines_.size() + 1) * sizeof(Line) > memory_bytes_) spill();
  lines_.push_back({time, text_.size(), line.size()});
  text_ += line;
}

void SortedLines::sort() { std::ranges::stable_sort(lines_, {}, &Line::time); }

void SortedLines::spill() {
  sort();
  File file(std::tmpfile());
  if (!file) fail_temporary_file("made");
  for (const Line& line : lines_) {
    const LineHead head{line.time, line.size};
    write_bytes(file.get(), &head, sizeof head);
    write_bytes(file.get(), &text_[line.start], line.size);
  }
  if (std::fflush(file.get()) != 0) fail_temporary_file("written");
  files_.push_back(std::move(file));
  lines_.clear();
  text_.clear();
}

void SortedLines::write_to(std::ostream& stream) {
  if (files_.empty()) {
    sort();
    for (const Line& line : lines_)
      stream.write(&text_[line.start], static_cast<std::streamsize>(line.size));
  } else {
    if (!lines_.empty()) spill();
    std::vector<Run> runs;
    for (const File& file : files_) runs.emplace_back(file.get());
    // Time of the next line of a temporary file, and the index of the file.
    using FirstLine = std::pair<std::int64_t, std::size_t>;
    std::priority_queue<FirstLine, std::vector<FirstLine>, std::greater<>> next_lines;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (runs[i].next()) next_lines.emplace(runs[i].time, i);
    while (!next_lines.empty()) {
      const std::size_t run = next_lines.top().second;
      next_lines.pop();
      const std::string& line = runs[run].line;
      stream.write(line.data(), static_cast<std::streamsize>(line.size()));
      if (runs[run].next()) next_lines.emplace(runs[run].time, run);
    }
  }
  lines_.clear();
  text_.clear();
  files_.clear();
}

}  // namespace pipewright::analysis
