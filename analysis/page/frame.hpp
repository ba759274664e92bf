#pragma once

#include <ostream>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace pipewright::analysis {

// Puts content in the place of each "{{name}}" of a page's frame, in the order of the places.
class Frame {
 public:
  Frame(std::ostream& stream, std::string_view frame) : stream_(stream), rest_(frame) {}

  void fill(std::string_view name, std::string_view content) {
    const std::string place = fmt::format("{{{{{}}}}}", name);
    const std::size_t at = rest_.find(place);
    if (at == std::string_view::npos)
      throw std::logic_error(fmt::format("the page's frame has no place for {}", name));
    stream_ << rest_.substr(0, at) << content;
    rest_.remove_prefix(at + place.size());
  }
  void finish() { stream_ << rest_; }

 private:
  std::ostream& stream_;
  std::string_view rest_;
};

}  // namespace pipewright::analysis
