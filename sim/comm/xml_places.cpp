#include "sim/comm/xml_places.hpp"

#include <optional>

#include "analysis/timeline/text.hpp"
#include "sim/cluster/cluster.hpp"

namespace pipewright::comm {
namespace {

constexpr std::string_view blanks = " \t\r\n";

bool is_quote(char c) { return c == '"' || c == '\''; }

struct Tag {
  std::string_view name;  // "/zone" of an end tag
  std::size_t begin = 0;
  std::size_t end = 0;  // behind its '>'
  bool is_empty = false;
};

// Walks from tag to tag over well-formed XML.
class Tags {
 public:
  explicit Tags(std::string_view text) : text_(text) {}

  std::optional<Tag> next() {
    while ((at_ = text_.find('<', at_)) < text_.size()) {
      if (starts_with("<!--")) {
        skip_behind("-->");
      } else if (starts_with("<![CDATA[")) {
        skip_behind("]]>");
      } else if (starts_with("<?")) {
        skip_behind("?>");
      } else if (starts_with("<!")) {
        skip_declaration();
      } else {
        return read_tag();
      }
    }
    return std::nullopt;
  }

 private:
  bool starts_with(std::string_view words) const { return text_.substr(at_).starts_with(words); }
  void skip_behind(std::string_view words) {
    const std::size_t found = text_.find(words, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + words.size();
  }
  // <!DOCTYPE ..>, which may hold declarations of its own in brackets.
  void skip_declaration() {
    int depth = 0;
    char quote = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (is_quote(c)) {
        quote = c;
      } else if (c == '<') {
        ++depth;
      } else if (c == '>' && --depth == 0) {
        ++at_;
        return;
      }
    }
  }
  Tag read_tag() {
    Tag tag;
    tag.begin = at_;
    char quote = 0;
    std::size_t end = at_ + 1;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (is_quote(c)) {
        quote = c;
      } else if (c == '>') {
        break;
      }
    }
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    tag.is_empty = inside.ends_with('/');
    tag.name = inside.substr(0, inside.find_first_of(" \t\r\n/", 1));
    tag.end = at_ = std::min(end + 1, text_.size());
    return tag;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Where an attribute's value stands; none if the tag does not have it.
std::optional<PropertyPlace> find_attribute(std::string_view text, const Tag& tag,
                                            std::string_view name) {
  std::size_t at = tag.begin + 1 + tag.name.size();
  while (true) {
    at = text.find_first_not_of(blanks, at);
    if (at >= tag.end || text[at] == '/' || text[at] == '>') return std::nullopt;
    const std::size_t name_end = text.find_first_of(" \t\r\n=", at);
    const std::size_t open = text.find_first_of("\"'", name_end);
    if (open >= tag.end) return std::nullopt;
    const std::size_t close = text.find(text[open], open + 1);
    if (text.substr(at, name_end - at) == name) return PropertyPlace{{}, open + 1, close};
    at = close + 1;
  }
}

}  // namespace

ZonePlace find_outermost_zone(std::string_view text) {
  Tags tags(text);
  std::optional<Tag> tag = tags.next();
  if (tag && tag->name == "platform" && !tag->is_empty) tag = tags.next();
  if (!tag || tag->name.starts_with('/') || tag->name == "platform")
    throw cluster::Error("the platform file has no <zone>, which would hold the fitted numbers");
  ZonePlace zone{std::string(tag->name), tag->begin, tag->end, tag->is_empty, {}};
  if (zone.is_empty) return zone;
  while ((tag = tags.next()) && (tag->name == "prop" || tag->name == "/prop")) {
    const auto id = find_attribute(text, *tag, "id");
    auto value = find_attribute(text, *tag, "value");
    if (!id || !value) continue;
    value->id = text.substr(id->value_begin, id->value_end - id->value_begin);
    zone.properties.push_back(*value);
  }
  return zone;
}

std::string escape_attribute(std::string_view text) {
  std::string escaped;
  for (const char c : analysis::drawable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string escape_comment(std::string_view text) {
  std::string escaped;
  for (const char c : analysis::drawable(text)) {
    if (c == '-' && escaped.ends_with('-')) escaped += ' ';
    escaped += c;
  }
  if (escaped.ends_with('-')) escaped += ' ';
  return escaped;
}

}  // namespace pipewright::comm
