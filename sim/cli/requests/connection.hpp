#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

// The worker's end of the socket to its client, Python's package. A message is a line of JSON and
// can carry descriptors of open files.
namespace pipewright::cli {

using Json = nlohmann::ordered_json;

// Owner of an open file descriptor, which the destructor closes.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Message {
  Json json;
  std::vector<File> files;
};

class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}

  // Waits for the next message. No value: the client has closed the connection.
  std::optional<Message> receive();
  // Sends a message and waits until it is sent. Throws std::runtime_error if the client does not
  // receive it.
  void send(const Json& message, const std::vector<int>& descriptors = {}) const;

  int socket() const { return socket_; }

 private:
  bool read_socket();

  int socket_;
  std::string text_;
  std::vector<File> files_;
};

}  // namespace pipewright::cli
