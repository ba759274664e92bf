#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "sim/process/line_journal.hpp"

namespace pipewright::goodput {

// What seeds of a variant came to.
struct JournalEntry {
  std::size_t variant = 0;
  std::vector<analysis::GoodputOutcome> outcomes;
};
std::string to_line(const JournalEntry& entry);  // JSON, without an end of line
JournalEntry entry_of(const std::string& line);  // throws nlohmann::json::exception

// Seeds that were simulated, as lines of JSON. The first says what was asked, but for how many
// seeds there are to be.
//
//   {"pipewright_goodput":1,"question":"..."}
//   {"variant":0,"outcomes":[[1,[..],3,0,0,12,true],...]}
class Journal {
 public:
  enum class Start : bool { anew, resume };
  // Throws std::runtime_error: the file is another question's, or has seeds and is to begin anew,
  // or another process writes it.
  Journal(std::filesystem::path path, const std::string& question, Start start);

  const std::vector<JournalEntry>& entries() const { return entries_; }  // at the start
  void append(const JournalEntry& entry);

 private:
  std::vector<JournalEntry> entries_;  // before the lines, which fill it
  process::LineJournal lines_;
};

}  // namespace pipewright::goodput
