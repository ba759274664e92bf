#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/report/goodput/outcome.hpp"
#include "sim/process/line_journal.hpp"

namespace pipewright::goodput {

// Outcomes of some seeds of a variant.
struct JournalEntry {
  std::size_t variant = 0;
  std::vector<analysis::GoodputOutcome> outcomes;
};
// Formats an entry as JSON without a line end.
std::string to_line(const JournalEntry& entry);
// Parses a line. Throws nlohmann::json::exception.
JournalEntry entry_of(const std::string& line);

// File of simulated seeds, as lines of JSON, from which a run can resume. The first line is the
// question: scenario and tokens, but not the number of seeds.
//
//   {"pipewright_goodput":1,"question":"..."}
//   {"variant":0,"outcomes":[[1,[..],3,0,0,12,true],...]}
class Journal {
 public:
  enum class Start : bool { anew, resume };
  // Throws std::runtime_error if the file belongs to another question, if it has seeds and the run
  // starts anew, or if another process is writing it.
  Journal(std::filesystem::path path, const std::string& question, Start start);

  const std::vector<JournalEntry>& entries() const {
    return entries_;
  }  // Of the file when it was opened.
  void append(const JournalEntry& entry);

 private:
  std::vector<JournalEntry> entries_;  // Declared before lines_, which fills it.
  process::LineJournal lines_;
};

}  // namespace pipewright::goodput
