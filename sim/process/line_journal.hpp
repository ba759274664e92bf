#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace pipewright::process {

// File of lines that survives a crash of the program. An append writes all of its lines or none,
// and only one process at a time can open the file. An incomplete last line, without a newline, is
// ignored.
class LineJournal {
 public:
  // Texts of errors, and the function that throws them, for the kind of file.
  struct Words {
    std::string busy;                          // error: another process has the file
    std::string too_long;                      // error: a line is too long
    void (*fail)(const std::string& message);  // throws
  };
  // Callback for each line that is already in the file, with its number from 1.
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
