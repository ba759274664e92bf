#include "sim/cli/requests/connection.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "analysis/report/report_table.hpp"

namespace pipewright::cli {
namespace {

constexpr std::size_t max_files = 64;  // of a message

using ControlBytes = std::array<char, CMSG_SPACE(sizeof(int) * max_files)>;

}  // namespace

File::~File() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Connection::read_socket() {
  std::array<char, 1U << 16U> buffer;
  alignas(cmsghdr) ControlBytes control{};
  iovec place{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &place;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t count = recvmsg(socket_, &header, MSG_CMSG_CLOEXEC);
  if (count < 0) return errno == EINTR;
  text_.append(buffer.data(), static_cast<std::size_t>(count));
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::vector<int> descriptors((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(descriptors.data(), CMSG_DATA(part), descriptors.size() * sizeof(int));
    for (const int descriptor : descriptors) files_.emplace_back(descriptor);
  }
  return count > 0;
}

std::optional<Message> Connection::receive() {
  std::size_t end = 0;
  while ((end = text_.find('\n')) == std::string::npos)
    if (!read_socket()) return std::nullopt;
  Message message{analysis::parse_json(std::string_view(text_).substr(0, end)), std::move(files_)};
  text_.erase(0, end + 1);
  files_.clear();
  return message;
}

void Connection::send(const Json& message, const std::vector<int>& descriptors) const {
  if (descriptors.size() > max_files) throw std::logic_error("too many files in a message");
  // Bytes of several messages can arrive together, so each message contains its number of files.
  std::string line = analysis::json_line(message) + '\n';
  if (!descriptors.empty()) line.insert(1, fmt::format("\"files\":{},", descriptors.size()));
  alignas(cmsghdr) ControlBytes control{};
  for (std::size_t at = 0; at < line.size();) {
    iovec place{const_cast<char*>(line.data()) + at, line.size() - at};
    msghdr header{};
    header.msg_iov = &place;
    header.msg_iovlen = 1;
    if (at == 0 && !descriptors.empty()) {
      const std::size_t bytes = descriptors.size() * sizeof(int);
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* const part = CMSG_FIRSTHDR(&header);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(bytes);
      std::memcpy(CMSG_DATA(part), descriptors.data(), bytes);
    }
    const ssize_t count = sendmsg(socket_, &header, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      throw std::runtime_error(
          fmt::format("the client does not receive answers: {}", std::strerror(errno)));
    at += static_cast<std::size_t>(count);
  }
}

}  // namespace pipewright::cli
