#pragma once

#include <optional>
#include <string>

#include "sim/process/line_reader.hpp"

// Processes exchange messages: each is one line, which holds one JSON document.
namespace pipewright::process {

// The child's end of the messages between a process and its parent.
class Channel {
 public:
  Channel(int from, int into) : from_(from), into_(into) {}

  // Waits until the message is written. False: nobody reads it.
  bool send(std::string message) const;
  // Waits for the next message. Nothing: the parent has ended.
  std::optional<std::string> receive();

  int from() const { return from_; }                  // for poll()
  int into() const { return into_; }                  // for signal handlers
  bool take() { return messages_.read_from(from_); }  // what there is; false: the parent has ended

 private:
  int from_;
  int into_;
  LineReader messages_;
};

// {"error": text}, in which bytes that are no UTF-8 are replaced: what a child says that fails.
std::string error_message(const std::string& text);
// The text of such a message; nothing: it is another.
std::optional<std::string> error_of(const std::string& message);

}  // namespace pipewright::process
