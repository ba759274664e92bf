#include "sim/process/line_reader.hpp"

#include <array>
#include <cerrno>

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

}  // namespace pipewright::process
