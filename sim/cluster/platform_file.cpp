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
// The attributes that are numbers, and whether 0 is one of those that they may be.
constexpr std::array<std::pair<const char*, bool>, 5> numbers{
    {{"latency", true}, {"lat", true}, {"bandwidth", false}, {"bw", false}, {"speed", false}}};

class Checker final : public pugi::xml_tree_walker {
 public:
  explicit Checker(const PlatformFile& file) : file_(file) {}

  bool for_each(pugi::xml_node& node) override {
    const std::string_view tag = node.name();
    if (tag == "zone" || tag == "AS") check_routing(node);
    for (const auto& [attribute, may_be_zero] : numbers) check_number(node, attribute, may_be_zero);
    return true;
  }

 private:
  void check_routing(const pugi::xml_node& node) const {
    const std::string_view routing = node.attribute("routing").value();
    const bool known = std::any_of(routings.begin(), routings.end(),
                                   [&](const char* name) { return routing == name; });
    if (!known && !routing.empty())
      file_.fail(node.offset_debug(), fmt::format("routing '{}' is unknown; there are {}", routing,
                                                  fmt::join(routings, ", ")));
  }
  void check_number(const pugi::xml_node& node, const char* attribute, bool may_be_zero) const {
    const std::string_view text = node.attribute(attribute).value();
    if (text.empty()) return;
    const double number = std::strtod(text.data(), nullptr);
    if (!(number >= 0) || (number == 0 && !may_be_zero) || std::isinf(number))
      file_.fail(node.offset_debug(),
                 fmt::format("{} '{}' of {} '{}' must be {}", attribute, text, node.name(),
                             node.attribute("id").value(),
                             may_be_zero ? "finite and >= 0" : "finite and > 0"));
  }

  const PlatformFile& file_;
};

}  // namespace

PlatformFile::PlatformFile(std::filesystem::path path, std::string text)
    : path_(std::move(path)),
      text_(std::move(text)),
      document_(std::make_unique<pugi::xml_document>()) {
  for (std::size_t at = 0; (at = text_.find('\n', at)) != std::string::npos; ++at)
    line_ends_.push_back(static_cast<std::ptrdiff_t>(at));
  const pugi::xml_parse_result parsed = document_->load_buffer(text_.data(), text_.size());
  if (!parsed) fail(parsed.offset, parsed.description());
}
PlatformFile::~PlatformFile() = default;
PlatformFile::PlatformFile(PlatformFile&&) noexcept = default;

int PlatformFile::line_of(std::ptrdiff_t offset) const {
  const auto line = std::lower_bound(line_ends_.begin(), line_ends_.end(), offset);
  return static_cast<int>(line - line_ends_.begin()) + 1;
}

void PlatformFile::fail(std::ptrdiff_t offset, const std::string& what) const {
  throw Error(fmt::format("{}:{}: {}", path_.string(), line_of(offset), what));
}

PlatformFile read_platform_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(fmt::format("{}: no such platform file", path.string()));
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error(fmt::format("{}: a SimGrid platform file (XML) was expected", path.string()));
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw Error(fmt::format("{}: {}", path.string(), std::strerror(errno)));

  PlatformFile file(path, std::move(text));
  if (!file.document().child("platform"))
    throw Error(
        fmt::format("{}: has no <platform>; a SimGrid platform file was expected", path.string()));
  Checker checker(file);
  // The walker may change nodes; this one does not.
  const_cast<pugi::xml_document&>(file.document()).traverse(checker);
  return file;
}

}  // namespace pipewright::cluster
