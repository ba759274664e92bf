#pragma once

#include <initializer_list>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

// How pages that need no other file are put together.
namespace pipewright::analysis {

// The content of a file of a page, which the build embeds; empty if there is none.
std::string_view asset(std::string_view name);

std::string gzip(std::string_view bytes);    // RFC 1952, without name or time
std::string base64(std::string_view bytes);  // RFC 4648, padded

// JSON in which nothing can end the script element around it or begin a comment in it.
std::string script_safe(std::string_view json);

// The content of these assets, one after the other, as one function that runs at once.
std::string joined_scripts(std::span<const char* const> names);

// Names come from files of users: they become text and nothing else.
std::string html_text(std::string_view words);

// The head of a page, before its frame, which begins with <body>. `styles` are assets; `policy`
// says what the page may load beside itself, as in "; connect-src 'self'".
void write_head(std::ostream& stream, std::string_view title,
                std::initializer_list<const char*> styles, std::string_view policy = "");

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
