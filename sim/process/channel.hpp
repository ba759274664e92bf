#pragma once

#include <cstddef>
#include <optional>
#include <string>

// Messages between a process and its child. A message is one line with one JSON document.
namespace pipewright::process {

// Receives bytes through a pipe and splits them into lines.
class LineReader {
 public:
  // Reads the bytes that are available, in one call. Returns false at the end of the stream, on an
  // error, and if is_too_long().
  bool read_from(int descriptor);
  // Returns whether a line has more bytes than any valid message.
  bool is_too_long() const;
  // Returns the next complete line, without its newline; nothing if none is complete yet.
  std::optional<std::string> next();

 private:
  std::string text_;
  std::size_t taken_ = 0;   // end of the lines that next() has returned
  std::size_t looked_ = 0;  // end of the text that is known to hold no other newline
};

// Connection of a child process to its parent: sends and receives messages.
class Channel {
 public:
  Channel(int from, int into) : from_(from), into_(into) {}

  // Blocks until the message is written. Returns false if the parent does not read it.
  bool send(std::string message) const;
  // Blocks until the next message arrives. Returns nothing once the parent has ended.
  std::optional<std::string> receive();

  int from() const { return from_; }  // descriptor for poll()
  int into() const { return into_; }  // descriptor for signal handlers
  // Reads the available bytes. Returns false once the parent has ended.
  bool take() { return messages_.read_from(from_); }

 private:
  int from_;
  int into_;
  LineReader messages_;
};

// Formats the message that a failing child sends: {"error": text}. Bytes that are not UTF-8 are
// replaced.
std::string error_message(const std::string& text);
// Returns the text of an error message, or nothing for any other message.
std::optional<std::string> error_of(const std::string& message);

}  // namespace pipewright::process
