#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace pipewright::process {

// A file of lines that keeps what is known, whatever happens to the program: lines are written at
// once, all or none, by one process at a time. A last line without an end was torn, and is none.
class LineJournal {
 public:
  // What its user calls things and throws.
  struct Words {
    std::string busy;                          // another process writes it
    std::string too_long;                      // a line is
    void (*fail)(const std::string& message);  // throws
  };
  // `take` gets each line that is there, with its number from 1.
  using Take = std::function<void(std::size_t number, const std::string& line)>;
  LineJournal(std::filesystem::path path, Words words, const Take& take);
  ~LineJournal();
  LineJournal(const LineJournal&) = delete;
  LineJournal& operator=(const LineJournal&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool is_empty() const { return size_ == 0; }
  void append(const std::string& lines);    // with their ends
  void remove();                            // the file, once what it has is elsewhere
  void fail(const std::string& why) const;  // with its name

 private:
  void open_locked();
  void read(const Take& take);

  std::filesystem::path path_;
  Words words_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;  // bytes, of whole lines
};

}  // namespace pipewright::process
