#pragma once

#include <cstddef>
#include <optional>
#include <string>

// Processes exchange messages: each is one line, which holds one JSON document.
namespace pipewright::process {

// Lines out of what a pipe brings in pieces.
class LineReader {
 public:
  // Takes what there is to read, once. False at the end, on an error, and when a line is longer
  // than any that is sensible.
  bool read_from(int descriptor);
  bool is_too_long() const;
  // The next whole line, without its newline.
  std::optional<std::string> next();

 private:
  std::string text_;
  std::size_t taken_ = 0;   // before it: given out
  std::size_t looked_ = 0;  // between the two: no newline
};

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
