#include "sim/process/channel.hpp"

#include <array>
#include <cerrno>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace pipewright::process {

bool LineReader::is_too_long() const {
  constexpr std::size_t longest = std::size_t{1} << 28U;
  return text_.size() - taken_ > longest;
}

bool LineReader::read_from(int descriptor) {
  std::array<char, 1U << 16U> buffer;
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  text_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0 && !is_too_long();
}

std::optional<std::string> LineReader::next() {
  const std::size_t end = text_.find('\n', looked_);
  if (end == std::string::npos) {
    text_.erase(0, taken_);
    taken_ = 0;
    looked_ = text_.size();
    return std::nullopt;
  }
  std::string line = text_.substr(taken_, end - taken_);
  taken_ = looked_ = end + 1;
  return line;
}

using nlohmann::json;

bool Channel::send(std::string message) const {
  message += '\n';
  for (std::size_t at = 0; at < message.size();) {
    const ssize_t count = write(into_, message.data() + at, message.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<std::string> Channel::receive() {
  for (;;) {
    if (std::optional<std::string> message = messages_.next()) return message;
    if (!take()) return std::nullopt;
  }
}

std::string error_message(const std::string& text) {
  return json{{"error", text}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<std::string> error_of(const std::string& message) {
  const json value = json::parse(message, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  const auto error = value.find("error");
  if (error == value.end() || !error->is_string()) return std::nullopt;
  return error->get<std::string>();
}

}  // namespace pipewright::process
