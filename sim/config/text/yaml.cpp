#include "sim/config/text/yaml.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "sim/config/text/plain_text.hpp"
#include "sim/config/text/readable.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::config {
namespace {

std::size_t count_values(const Value& value) {
  std::size_t total = 1;
  for (const Value& item : value.items) total += count_values(item);
  for (const Entry& entry : value.entries) total += count_values(entry.value);
  return total;
}

int depth(const Value& value) {
  int deepest = 0;
  for (const Value& item : value.items) deepest = std::max(deepest, depth(item));
  for (const Entry& entry : value.entries) deepest = std::max(deepest, depth(entry.value));
  return deepest + 1;
}

// Builds a tree from the events of yaml-cpp. The library's own tree is not used because it would
// hide repeated keys, and its time is quadratic in the number of containers.
class Builder final : public YAML::EventHandler {
 public:
  Builder(Origin origin, const Document& document)
      : origin_(std::move(origin)), document_(document) {}

  Value take() { return std::move(root_); }
  bool is_empty() const { return !has_root_; }

  Origin origin_of(const YAML::Mark& mark) const {
    Origin origin = origin_;
    if (origin_.line > 0 && !mark.is_null()) {
      origin.line = mark.line + 1;
      origin.column = mark.column + 1;
    }
    return origin;
  }

  // A second document is an error. Without it, yaml-cpp 0.7 would report empty documents endlessly
  // for text that begins no value.
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_ > 0)
      throw has_root_ ? Error(origin_of(mark), "text follows the end of the document")
                            .allow(fmt::format("{} of one document", document_.noun))
                      : Error(origin_of(mark), "no value begins here")
                            .allow(fmt::format("lines such as {}", document_.example));
    ++documents_;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Origin here = origin_of(mark);
    if (open_.empty()) return;  // a lone "---" counts as empty
    const bool is_key = open_.back().value.kind == Value::Kind::map && !open_.back().has_key;
    if (document_.is_foreign && !is_key) {
      check_count(here, 1);
      return add(make_text(std::string(null_text), here), here, anchor);
    }
    if (open_.back().value.kind == Value::Kind::list)
      throw Error(here, "a list item is empty (null)").suggest("write a value or leave it out");
    if (!open_.back().has_key)
      throw Error(here, "a key is empty (null)").allow("texts such as devices");
    throw Error(here, fmt::format("{} has no value (null)", shown(open_.back().key)))
        .suggest(fmt::format("write one, or leave the key out{}",
                             open_.size() > 1 ? " (or is a closing bracket missing?)" : ""));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end())
      throw Error(origin_of(mark), "an alias stands inside the value it repeats");
    const Value& value = it->second;
    if (static_cast<int>(open_.size()) + depth(value) > max_depth) throw too_deep(origin_of(mark));
    check_count(origin_of(mark), count_values(value));
    add(Value(value), origin_of(mark), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const Origin here = origin_of(mark);
    check_tag(tag, here);
    check_plain_text(text, here, false, document_.noun);
    check_count(here, 1);
    add(make_text(text, here), here, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  // A list or map whose end has not been read yet.
  struct Open {
    Value value;
    YAML::anchor_t anchor = 0;
    bool has_key = false;  // the next value of the map belongs to `key`
    std::string key;
    Origin key_origin;
    std::map<std::string, Origin, std::less<>> keys;
  };

  static Error too_deep(const Origin& here) {
    return Error(here, "nested too deeply").allow(fmt::format("{} levels", max_depth));
  }

  static Error no_key(const Origin& here) {
    return Error(here, "a list or a map stands where a key should be")
        .allow("texts such as devices (or is a closing bracket missing?)");
  }

  void check_count(const Origin& here, std::size_t added) {
    values_ += added;
    if (values_ > max_values)
      throw Error(here, "too many values").allow(fmt::format("at most {}", max_values));
  }

  void check_tag(const std::string& tag, const Origin& here) const {
    const bool is_standard = document_.is_foreign || tag.empty() || tag == "?" || tag == "!" ||
                             tag.starts_with("tag:yaml.org,2002:");
    if (!is_standard)
      throw Error(here, fmt::format("tag {} has no meaning here", in_quotes(tag)))
          .suggest("write plain texts, lists and maps");
  }

  void open(Value::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    const Origin here = origin_of(mark);
    check_tag(tag, here);
    check_count(here, 1);
    if (static_cast<int>(open_.size()) >= max_depth) throw too_deep(here);
    if (!open_.empty() && open_.back().value.kind == Value::Kind::map && !open_.back().has_key)
      throw no_key(here);
    Open container;
    container.value.kind = kind;
    container.value.origin = here;
    container.anchor = anchor;
    open_.push_back(std::move(container));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    const Origin here = done.value.origin;
    add(std::move(done.value), here, done.anchor);
  }

  // Adds a complete value to the list or map that contains it; in a map, keys and values alternate.
  void add(Value value, const Origin& here, YAML::anchor_t anchor) {
    if (anchor != 0) {
      check_count(here, count_values(value));  // nested anchors would multiply the copies
      anchors_[anchor] = value;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      has_root_ = true;
      return;
    }
    Open& parent = open_.back();
    if (parent.value.kind == Value::Kind::list) {
      parent.value.items.push_back(std::move(value));
    } else if (parent.has_key) {
      parent.value.entries.push_back({parent.key, parent.key_origin, std::move(value)});
      parent.has_key = false;
    } else {
      add_key(parent, std::move(value), here);
    }
  }

  void add_key(Open& map, Value key, const Origin& here) const {
    if (key.kind != Value::Kind::text) throw no_key(here);
    const auto [first, is_new] = map.keys.emplace(key.text, here);
    if (!is_new && document_.is_foreign)
      std::erase_if(map.value.entries, [&](const Entry& entry) { return entry.key == key.text; });
    else if (!is_new)
      throw Error(here, fmt::format("key {} stands twice in one map", in_quotes(key.text)))
          .suggest(fmt::format("leave out one; the first is at {}", to_string(first->second)));
    map.has_key = true;
    map.key = std::move(key.text);
    map.key_origin = here;
  }

  Origin origin_;
  const Document& document_;
  Value root_;
  bool has_root_ = false;
  int documents_ = 0;
  std::size_t values_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Value> anchors_;
};

// Returns advice for an error message of yaml-cpp, for the most frequent ones.
std::string advice(std::string_view fault, const Document& document) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> advice_table{{
      {"illegal map value",
       "write key: value, one per line, with quotes around texts that contain ': '"},
      {"end of sequence flow not found", "close the list with ] and separate its values by commas"},
      {"end of map flow not found", "close the map with } and separate its keys by commas"},
      {"end of map not found", "write key: value and begin all keys of a map in one column"},
      {"illegal tab when looking for indentation", "indent with spaces"},
      {"illegal EOF in scalar", "close the quotes"},
  }};
  for (const auto& [message, text] : advice_table)
    if (fault == message) return std::string(text);
  return fmt::format("{} is YAML or JSON, with lines such as {}", document.noun, document.example);
}

// Finds the first line that is indented with a tab, counted from 0, and the tab's position in it;
// (-1, 0) if there is none. JSON may contain tabs.
std::pair<int, int> first_tab(std::string_view text) {
  if (const std::size_t first = text.find_first_not_of(" \t\r\n");
      first != std::string_view::npos && (text[first] == '{' || text[first] == '['))
    return {-1, 0};
  int number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    const std::size_t first = line.find_first_not_of(' ');
    if (first != std::string_view::npos && line[first] == '\t')
      return {number, static_cast<int>(first)};
    begin += line.size() + 1;
  }
  return {-1, 0};
}

// Throws an Error for a file of another kind, which it names by its first bytes.
void refuse_other_files(std::string_view text, const Origin& start, const Document& document) {
  struct Kind {
    std::string_view beginning;
    std::string_view name;
    std::string_view command;
  };
  constexpr std::array kinds{
      Kind{"\x89HDF", "an HDF5 file, as traces and results of searches are",
           "read a trace with 'pipewright why' or 'pipewright show', and results with "
           "'pipewright search'"},
      Kind{"\x89PNG", "a picture (PNG)", ""},
      Kind{"%PDF", "a picture (PDF)", ""},
      Kind{"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg", "a picture (SVG)", ""},
      Kind{"<svg", "a picture (SVG)", ""},
      Kind{"<!doctype html", "a page (HTML)", "open it in a browser"},
      Kind{"<!DOCTYPE html", "a page (HTML)", "open it in a browser"},
      Kind{"\x1f\x8b", "a compressed file (gzip)", ""},
      Kind{"\x80", "a pickle of Python, as snapshots of memory are",
           "compare it with a trace: 'pipewright compare run.h5 snapshot.pickle'"},
      Kind{"<", "XML, as clusters are (--cluster)", ""},
  };
  const std::size_t first = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  for (const Kind& kind : kinds) {
    if (!text.substr(first).starts_with(kind.beginning)) continue;
    Error error({.source = start.source}, fmt::format("the file is {}", kind.name));
    if (!kind.command.empty()) error.suggest(std::string(kind.command));
    throw error.allow(fmt::format("{} in YAML or JSON", document.noun));
  }
}

// Reads a YAML text. If `start` has a line, the locations of values are counted from there;
// otherwise all values get the location `start`.
Value read(std::string_view text, const Origin& start,
           const Document& document = scenario_document) {
  if (text.size() > max_bytes)
    throw Error({.source = start.source},
                fmt::format("{} of more than {} MiB", document.noun, max_bytes >> 20U))
        .allow(fmt::format("at most {} MiB", max_bytes >> 20U));
  if (start.line > 0) refuse_other_files(text, start, document);
  check_plain_text(text, start, true, document.noun);
  check_brackets(text, start);
  Builder builder(start, document);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& fault) {
    if (const auto [line, column] = first_tab(text); line >= 0 && start.line > 0) {
      Origin here = start;
      here.line += line;
      here.column = column + 1;
      throw Error(here, "a tab indents this line").suggest("indent with spaces");
    }
    throw Error(builder.origin_of(fault.mark), fmt::format("YAML syntax: {}", fault.msg))
        .suggest(advice(fault.msg, document));
  }
  if (builder.is_empty()) {
    const bool is_file = start.line > 0;
    Error empty({.source = start.source}, is_file ? "the file is empty" : "no value given");
    if (is_file)
      empty.allow(fmt::format("{}, a map with at least {}", document.noun, document.needs));
    throw empty;
  }
  Value root = builder.take();
  if (document.has_scenario_keys) set_origin_keys(root, "");
  return root;
}

Error cannot_read(const std::string& path, std::string_view reason, const Document& document) {
  return Error({.source = path}, fmt::format("cannot be read ({})", reason))
      .suggest(fmt::format("give {} file in YAML or JSON", document.noun));
}

}  // namespace

Value read_yaml_file(const std::string& path, const Document& document) {
  check_readable(path);
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
    throw cannot_read(path, "it is a folder", document);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw cannot_read(path, std::generic_category().message(errno), document);
  std::string text(max_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw cannot_read(path, "reading failed", document);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return read(text, {path, 1, 1, std::filesystem::path(path).parent_path().string()}, document);
}

Value read_yaml_text(std::string_view text, const std::string& name, const Document& document) {
  return read(text, {name, 1, 1, ""}, document);
}

Value read_yaml_value(std::string_view text, const Origin& origin) { return read(text, origin); }

}  // namespace pipewright::config
