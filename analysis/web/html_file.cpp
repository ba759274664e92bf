#include "analysis/web/html_file.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include <zlib.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {

std::string gzip(std::string_view bytes) {
  constexpr int gzip_header = 16;  // added to the window bits to request a gzip header
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_header, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib: no memory for compression");
  std::string packed;
  std::string buffer(std::size_t{1} << 16, '\0');
  const char* next = bytes.data();
  std::size_t left = bytes.size();
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {  // zlib takes sizes of 32 bits
      const std::size_t part = std::min<std::size_t>(left, std::numeric_limits<uInt>::max());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(next));
      stream.avail_in = static_cast<uInt>(part);
      next += part;
      left -= part;
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    state = deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
    packed.append(buffer, 0, buffer.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return packed;
}

std::string base64(std::string_view bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t group = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += k <= group ? digits[bits >> (18 - 6 * k) & 63U] : '=';
  }
  return text;
}

std::string script_safe(std::string_view json) {
  std::string safe;
  for (const char c : json)
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  return safe;
}

std::string html_text(std::string_view words) {
  std::string text;
  for (const char c : drawable(words)) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string joined_scripts(std::span<const char* const> names) {
  std::string joined = "(() => {\n\"use strict\";\n";
  for (const char* name : names) {
    const std::string_view script = asset(name);
    if (script.empty()) throw std::logic_error(fmt::format("no script is called {}", name));
    joined += script;
  }
  return joined + "})();\n";
}

void write_head(std::ostream& stream, std::string_view title,
                std::initializer_list<const char*> styles, std::string_view policy) {
  std::string style;
  for (const char* name : styles) style += asset(name);
  Frame head(stream, asset("head.html"));
  head.fill("policy", policy);
  head.fill("title", html_text(title));
  head.fill("style", style);
  head.finish();
}

}  // namespace pipewright::analysis
