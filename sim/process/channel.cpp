#include "sim/process/channel.hpp"

#include <cerrno>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace pipewright::process {

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
