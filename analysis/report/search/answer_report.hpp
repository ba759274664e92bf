#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/report/report_table.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {

// Answer to a question about the winner of a search. Its parts are laid out by the terminal and by
// the page, each in its own way. Texts begin in lower case and have no full stop.
class AnswerReport {
 public:
  // The functions below add a part at the end. A sentence after a heading may complete it.
  void add_heading(std::string heading, std::string sentence = "");
  void add_sentence(std::string sentence);
  // Adds an item of a list. Each detail is a list of words that are separated by commas.
  void add_item(std::string item, std::vector<std::string> details = {});
  // Adds an item that a terminal breaks into lines.
  void add_long_item(std::string item);
  // Adds an item of a list whose items have numbers, from 1.
  void add_numbered_item(std::string item);
  void add_table(TextTable table);
  // Adds a script, or another text whose lines must stay as they are, below its title.
  void add_script(std::string title, std::string script);

  // Returns the text for a terminal of 100 columns.
  std::string text() const;
  // Returns an array of objects, one for each part. Objects have the kind of the part and its
  // texts.
  Json json() const;

 private:
  enum class Kind : std::uint8_t {
    heading,
    sentence,
    item,
    long_item,
    numbered_item,
    table,
    script
  };
  struct Part {
    Kind kind;
    std::string text;
    std::vector<std::string> details;
    TextTable table;
  };
  std::vector<Part> parts_;
};

}  // namespace pipewright::analysis
