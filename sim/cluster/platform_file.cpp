#include "sim/cluster/platform_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pugixml.hpp>

#include "sim/cluster/cluster.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::array routings{"Full",  "Floyd",    "Dijkstra",  "DijkstraCache",
                              "None",  "Vivaldi",  "Cluster",   "Star",
                              "Torus", "Fat_Tree", "Dragonfly", "Wifi"};

class Checker final : public pugi::xml_tree_walker {
 public:
  Checker(const std::filesystem::path& file, const std::string& text) : file_(file), text_(text) {}

  bool for_each(pugi::xml_node& node) override {
    const std::string_view tag = node.name();
    if (tag == "zone" || tag == "AS") check_routing(node);
    check_number(node, "latency", true);
    check_number(node, "bandwidth", false);
    check_number(node, "speed", false);
    return true;
  }

 private:
  void check_routing(const pugi::xml_node& node) const {
    const std::string_view routing = node.attribute("routing").value();
    const bool known = std::any_of(routings.begin(), routings.end(),
                                   [&](const char* name) { return routing == name; });
    if (!known && !routing.empty())
      fail(node, fmt::format("routing '{}' is unknown; there are {}", routing,
                             fmt::join(routings, ", ")));
  }
  void check_number(const pugi::xml_node& node, const char* attribute, bool may_be_zero) const {
    const std::string_view text = node.attribute(attribute).value();
    if (text.empty()) return;
    const double number = std::strtod(text.data(), nullptr);
    if (!(number >= 0) || (number == 0 && !may_be_zero) || std::isinf(number))
      fail(node, fmt::format("{} '{}' of {} '{}' must be {}", attribute, text, node.name(),
                             node.attribute("id").value(),
                             may_be_zero ? "finite and >= 0" : "finite and > 0"));
  }
  [[noreturn]] void fail(const pugi::xml_node& node, const std::string& what) const {
    const auto end =
        text_.begin() + std::min<std::ptrdiff_t>(node.offset_debug(), std::ssize(text_));
    throw Error(
        fmt::format("{}:{}: {}", file_.string(), std::count(text_.begin(), end, '\n') + 1, what));
  }

  const std::filesystem::path& file_;
  const std::string& text_;
};

}  // namespace

std::string read_platform_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw Error(fmt::format("{}: no such platform file", file.string()));
  if (!std::filesystem::is_regular_file(file, ignored))
    throw Error(fmt::format("{}: a SimGrid platform file (XML) was expected", file.string()));
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw Error(fmt::format("{}: {}", file.string(), std::strerror(errno)));

  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) {
    const auto end = text.begin() + std::min<std::ptrdiff_t>(parsed.offset, std::ssize(text));
    throw Error(fmt::format("{}:{}: {}", file.string(), std::count(text.begin(), end, '\n') + 1,
                            parsed.description()));
  }
  if (!document.child("platform"))
    throw Error(
        fmt::format("{}: has no <platform>; a SimGrid platform file was expected", file.string()));
  Checker checker(file, text);
  document.traverse(checker);
  return text;
}

}  // namespace pipewright::cluster
