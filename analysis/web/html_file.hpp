#pragma once

#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

// Functions for writing self-contained HTML pages.
namespace pipewright::analysis {

// Content of an embedded page asset; empty if there is no asset with this name.
std::string_view asset(std::string_view name);

std::string gzip(std::string_view bytes);    // RFC 1952, without file name and time
std::string base64(std::string_view bytes);  // RFC 4648, with padding

// Escapes JSON so that it cannot end the script element around it or begin a comment.
std::string script_safe(std::string_view json);

// Bundles a script with all scripts that it imports, since a page opened from disk cannot import
// files. Scripts are ES modules of two statements: `import { a, b } from "./file.js";` at the
// beginning of a line, and `export` before a declaration. Each module becomes a function that
// returns its exports. A missing script or a cycle of imports is a std::logic_error.
std::string bundled_script(std::string_view entry);

// Escapes text from users' files for use in HTML.
std::string html_text(std::string_view words);

// Writes the head of an HTML page; the caller then writes the rest, from <body> on. `styles` are
// names of assets. `policy` is appended to the content security policy: "; connect-src 'self'".
void write_head(std::ostream& stream, std::string_view title,
                std::initializer_list<const char*> styles, std::string_view policy = "");

// Writes a page's frame and replaces its placeholders "{{name}}" in the order of their appearance.
class Frame {
 public:
  Frame(std::ostream& stream, std::string_view frame) : stream_(stream), rest_(frame) {}

  void fill(std::string_view name, std::string_view content) {
    const std::string placeholder = fmt::format("{{{{{}}}}}", name);
    const std::size_t at = rest_.find(placeholder);
    if (at == std::string_view::npos)
      throw std::logic_error(fmt::format("the frame of the page has no placeholder for {}", name));
    stream_ << rest_.substr(0, at) << content;
    rest_.remove_prefix(at + placeholder.size());
  }
  void finish() { stream_ << rest_; }

 private:
  std::ostream& stream_;
  std::string_view rest_;
};

}  // namespace pipewright::analysis
