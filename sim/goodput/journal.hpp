#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/goodput/outcome.hpp"

namespace pipewright::goodput {

// What seeds of a variant came to.
struct JournalEntry {
  std::size_t variant = 0;
  std::vector<analysis::GoodputOutcome> outcomes;
};
std::string to_line(const JournalEntry& entry);  // JSON, without an end of line
JournalEntry entry_of(const std::string& line);  // throws nlohmann::json::exception

// Seeds that were simulated, whatever happens to the program: a file of lines of JSON, each written
// at once. The first says what was asked; a last line without an end was torn, and is none.
//
//   {"pipewright_goodput":1,"question":"..."}
//   {"variant":0,"outcomes":[[1,[..],3,0,0,12,true],...]}
class Journal {
 public:
  enum class Start : bool { anew, resume };
  // Throws std::runtime_error: the file is another question's, or has seeds and is to begin anew,
  // or another process writes it.
  Journal(std::filesystem::path path, const std::string& question, Start start);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::vector<JournalEntry>& entries() const { return entries_; }  // at the start
  void append(const JournalEntry& entry);

 private:
  [[noreturn]] void fail(const std::string& why) const;
  void read(const std::string& question);
  void write_line(std::string line);

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::size_t size_ = 0;  // bytes, of whole lines
  std::vector<JournalEntry> entries_;
};

}  // namespace pipewright::goodput
