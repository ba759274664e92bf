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

[[noreturn]] void fail(const char* what) {
  throw trace::TraceError(fmt::format("a temporary file cannot be {}: {}", what,
                                      std::generic_category().message(errno)));
}

struct Head {
  std::int64_t time;
  std::size_t size;
};

void put(std::FILE* file, const void* bytes, std::size_t size) {
  if (std::fwrite(bytes, 1, size, file) != size) fail("written");
}

}  // namespace

// What is left of a file, its first line at hand.
class SortedLines::Run {
 public:
  explicit Run(std::FILE* file) : file_(file) { std::rewind(file_); }

  bool next() {
    Head head{};
    if (std::fread(&head, sizeof head, 1, file_) != 1) {
      if (std::ferror(file_) != 0) fail("read");
      return false;
    }
    time = head.time;
    line.resize(head.size);
    if (std::fread(line.data(), 1, head.size, file_) != head.size) fail("read");
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
  if (!file) fail("made");
  for (const Line& line : lines_) {
    const Head head{line.time, line.size};
    put(file.get(), &head, sizeof head);
    put(file.get(), &text_[line.start], line.size);
  }
  if (std::fflush(file.get()) != 0) fail("written");
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
    using Entry = std::pair<std::int64_t, std::size_t>;  // the time and the file of a first line
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> first;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (runs[i].next()) first.emplace(runs[i].time, i);
    while (!first.empty()) {
      const std::size_t from = first.top().second;
      first.pop();
      const std::string& line = runs[from].line;
      stream.write(line.data(), static_cast<std::streamsize>(line.size()));
      if (runs[from].next()) first.emplace(runs[from].time, from);
    }
  }
  lines_.clear();
  text_.clear();
  files_.clear();
}

}  // namespace pipewright::analysis
