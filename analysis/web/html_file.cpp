#include "analysis/web/html_file.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

// Returns the name of the JavaScript constant for a module's exports: `module_units` for
// "units.js".
std::string module_constant(std::string_view script) {
  return fmt::format("module_{}", script.substr(0, script.find('.')));
}

// Returns the name that a declaration at the beginning of `code` defines, as in "async function
// name(".
std::string_view declared_name(std::string_view code) {
  for (const std::string_view keyword : {"async ", "function ", "class ", "const "})
    if (code.starts_with(keyword)) code.remove_prefix(keyword.size());
  return code.substr(0, code.find_first_of(" ({="));
}

// Concatenates the modules of a page's script so that each comes after those that it imports.
class ScriptBundle {
 public:
  // Adds a module after the modules that it imports, unless the bundle has it already.
  void add(std::string_view name) {
    if (std::ranges::find(complete_, name) != complete_.end()) return;
    if (std::ranges::find(open_, name) != open_.end())
      throw std::logic_error(fmt::format("script {} imports itself through others", name));
    std::string_view code = asset(name);
    if (code.empty()) throw std::logic_error(fmt::format("no script is called {}", name));
    open_.emplace_back(name);
    std::string body;
    std::vector<std::string_view> exports;
    while (!code.empty()) {
      constexpr std::string_view export_keyword = "export ";
      if (code.starts_with("import {")) {
        body += import_statement(take_through(code, ";\n"));
        continue;
      }
      if (code.starts_with(export_keyword)) {
        code.remove_prefix(export_keyword.size());
        exports.push_back(declared_name(code));
      }
      body += take_through(code, "\n");
    }
    text_ += fmt::format("const {} = (() => {{\n{}return {{ {} }};\n}})();\n",
                         module_constant(name), body, fmt::join(exports, ", "));
    open_.pop_back();
    complete_.emplace_back(name);
  }
  const std::string& text() const { return text_; }

 private:
  // Removes everything up to and including the first `end` from the front of `code`, and returns
  // it.
  static std::string_view take_through(std::string_view& code, std::string_view end) {
    const std::size_t at = code.find(end);
    const std::size_t size = at == std::string_view::npos ? code.size() : at + end.size();
    const std::string_view part = code.substr(0, size);
    code.remove_prefix(size);
    return part;
  }

  // Adds the imported module, and returns the statement that binds the imported names.
  std::string import_statement(std::string_view statement) {
    const std::size_t names_end = statement.find('}');
    const std::string_view names = statement.substr(0, names_end).substr(statement.find('{') + 1);
    const std::string_view path = statement.substr(0, statement.rfind('"'));
    const std::string_view script = path.substr(path.find_last_of("\"/") + 1);
    add(script);
    return fmt::format("const {{{}}} = {};\n", names, module_constant(script));
  }

  std::string text_;
  std::vector<std::string> complete_;  // names of the modules in `text_`
  std::vector<std::string> open_;      // names of the modules whose imports are being added
};

}  // namespace

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

std::string bundled_script(std::string_view entry) {
  ScriptBundle bundle;
  bundle.add(entry);
  return "(() => {\n\"use strict\";\n" + bundle.text() + "})();\n";
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
