#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace pipewright::process {

// A file of lines that survives a crash of the program. An append writes all of its lines or none,
// and one process at a time has the file. A last line without a newline was torn and is ignored.
class LineJournal {
 public:
  // Texts of errors, and the exception, that fit what the journal holds.
  struct Words {
    std::string busy;                          // error: another process has the file
    std::string too_long;                      // error: a line is too long
    void (*fail)(const std::string& message);  // throws
  };
  // Receives a line that the file holds, with its number from 1.
  using Take = std::function<void(std::size_t number, const std::string& line)>;
  LineJournal(std::filesystem::path path, Words words, const Take& take);
  ~LineJournal();
  LineJournal(const LineJournal&) = delete;
  LineJournal& operator=(const LineJournal&) = delete;

  const std::filesystem::path& path() const { return path_; }
  bool is_empty() const { return size_ == 0; }
  void append(const std::string& lines);    // every line with its newline
  void remove();                            // deletes the file
  void fail(const std::string& why) const;  // throws; the message names the file

 private:
  void open_locked();
  void read(const Take& take);

  std::filesystem::path path_;
  Words words_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;  // bytes of whole lines
};

}  // namespace pipewright::process
