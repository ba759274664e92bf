#include "sim/cluster/platform/platform_file.hpp"

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
#include <strings.h>

#include "sim/cluster/platform/error.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/config/text/readable.hpp"

namespace pipewright::cluster {
namespace {

constexpr std::array routings{"Full",  "Floyd",    "Dijkstra", "DijkstraCache",
                              "None",  "Vivaldi",  "Cluster",  "Star",
                              "Torus", "Fat_Tree", "Dragonfly"};
constexpr int max_depth = 100;  // limit for nested elements, which are read recursively
// Attributes of elements that are numbers, and whether they may be 0.
constexpr std::array<std::pair<const char*, bool>, 5> numbers{
    {{"latency", true}, {"lat", true}, {"bandwidth", false}, {"bw", false}, {"speed", false}}};

class Checker {
 public:
  explicit Checker(const PlatformFile& file) : file_(file) {}

  void check(const pugi::xml_node& node, int depth) const {
    const std::string_view tag = node.name();
    if (depth > max_depth)
      fail(
          node,
          fmt::format(
              "<{}> is nested more than {} levels deep; a cluster needs only a few levels of zones",
              tag, max_depth));
    if (tag == "zone" || tag == "AS") check_routing(node);
    if (tag == "link" || tag == "host" || tag == "peer") check_constant(node);
    check_files(node);
    if (tag == "trace_connect") check_trace(node);
    if (tag == "cluster") check_topology(node);
    if (tag == "config") check_config(node);
    for (const auto& [attribute, may_be_zero] : numbers) check_number(node, attribute, may_be_zero);
  }

 private:
  [[noreturn]] void fail(const pugi::xml_node& node, const Error& error) const {
    file_.fail(node.offset_debug(), error);
  }
  [[noreturn]] void fail_wifi(const pugi::xml_node& node) const {
    fail(node,
         Error(fmt::format("{} '{}' is Wi-Fi, which is not supported", node.name(),
                           node.attribute("id").value()))
             .suggest("use <link .. sharing_policy=\"SPLITDUPLEX\"> in a zone with routing Full"));
  }
  // Checks that the files that an element names, such as profiles of bandwidth, are readable.
  void check_files(const pugi::xml_node& node) const {
    for (const pugi::xml_attribute& attribute : node.attributes())
      if (const std::string_view name = attribute.name(); name == "file" || name.ends_with("_file"))
        config::check_readable(file_.path().parent_path() / attribute.value());
  }
  // Availability and latency must be constant: hosts and links do not fail during a run, and
  // Cluster reads latencies once.
  void check_constant(const pugi::xml_node& node) const {
    if (strcasecmp(node.attribute("sharing_policy").value(), "WIFI") == 0) fail_wifi(node);
    for (const auto& [attribute, remedy] :
         {std::pair{"state_file", std::string_view(node.name()) == "link"
                                      ? "a scenario can fail the link with slow_links and factor 0"
                                      : "a run has no failing GPUs"},
          std::pair{"latency_file", "latency=\"..\" holds for the whole run"}})
      if (node.attribute(attribute))
        fail(node, Error(fmt::format("{} '{}' has a {}, which changes it during a run", node.name(),
                                     node.attribute("id").value(), attribute))
                       .suggest(fmt::format("remove it: {}", remedy)));
  }
  void check_trace(const pugi::xml_node& node) const {
    const std::string_view kind = node.attribute("kind").value();
    if (kind == "HOST_AVAIL" || kind == "LINK_AVAIL" || kind == "LATENCY")
      fail(node, Error(fmt::format("trace_connect changes '{}' (kind {}) during a run, which is "
                                   "not supported for hosts, links and latencies",
                                   node.attribute("element").value(), kind))
                     .suggest("remove it"));
  }
  void check_topology(const pugi::xml_node& node) const {
    const std::string_view text = node.attribute("topo_parameters").value();
    if (text.find_first_not_of("0123456789,; ") == std::string_view::npos) return;
    fail(node, fmt::format("topo_parameters '{}' of cluster '{}' must be whole numbers, such as "
                           "\"4,4,2\" for a torus",
                           text, node.attribute("id").value()));
  }
  // Rejects network settings, because pipewright sets SimGrid's link sharing model itself.
  void check_config(const pugi::xml_node& node) const {
    for (const pugi::xml_node& property : node.children("prop")) {
      const std::string_view key = property.attribute("id").value();
      if (!key.starts_with("network/")) continue;
      fail(property,
           Error(fmt::format("<config> sets {}, but the link sharing model is fixed", key))
               .suggest("remove it, and describe message costs with properties of the outermost "
                        "zone, such as CLASS.efficiency and CLASS.latency"));
    }
  }
  void check_routing(const pugi::xml_node& node) const {
    const std::string_view routing = node.attribute("routing").value();
    if (strcasecmp(node.attribute("routing").value(), "WIFI") == 0) fail_wifi(node);
    const bool is_known = std::any_of(routings.begin(), routings.end(),
                                      [&](const char* name) { return routing == name; });
    if (!is_known && !routing.empty())
      file_.fail(node.offset_debug(),
                 Error(fmt::format("routing '{}' is unknown", routing))
                     .suggest(fmt::format("choose from {}", fmt::join(routings, ", "))));
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

// Returns true if `name` consists of the prefix, digits and the suffix.
bool is_generated(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (name.size() <= prefix.size() + suffix.size()) return false;
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return name.find_first_not_of("0123456789") == std::string_view::npos;
}

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

void PlatformFile::for_each_element(
    const std::function<void(const pugi::xml_node&, int depth)>& visit) const {
  int depth = 0;
  for (pugi::xml_node node = document_->first_child(); node;) {
    visit(node, depth);
    if (node.first_child()) {
      node = node.first_child();
      ++depth;
      continue;
    }
    for (; node && !node.next_sibling(); --depth) node = node.parent();
    if (node) node = node.next_sibling();
  }
}

int PlatformFile::line_of(std::ptrdiff_t offset) const {
  const auto line = std::lower_bound(line_ends_.begin(), line_ends_.end(), offset);
  return static_cast<int>(line - line_ends_.begin()) + 1;
}

void PlatformFile::fail(std::ptrdiff_t offset, const Error& error) const {
  throw error.at({.source = path_.string(), .line = line_of(offset)});
}

PlatformFile read_platform_file(const std::filesystem::path& path) {
  config::check_readable(path);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) throw Error(path, 0, "no such platform file");
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error(path, 0, "a SimGrid platform file (XML) was expected");
  std::ifstream stream(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) throw Error(path, 0, std::strerror(errno));

  PlatformFile file(path, std::move(text));
  if (!file.document().child("platform"))
    throw Error(path, 0, "has no <platform> element; a SimGrid platform file was expected");
  pugi::xml_node top;
  for (const pugi::xml_node& node : file.document().child("platform").children()) {
    const std::string_view tag = node.name();
    if (tag != "zone" && tag != "AS" && tag != "cluster") continue;
    if (top)
      file.fail(node.offset_debug(),
                Error(fmt::format("{} '{}' follows '{}' in <platform>, which allows only one", tag,
                                  node.attribute("id").value(), top.attribute("id").value()))
                    .suggest("put both into one zone"));
    top = node;
  }
  const Checker checker(file);
  file.for_each_element([&](const pugi::xml_node& node, int depth) { checker.check(node, depth); });
  return file;
}

SourceLines::SourceLines(const PlatformFile& file) {
  file.for_each_element([&](const pugi::xml_node& node, int /*depth*/) {
    const std::string_view tag = node.name();
    const auto text = [&](const char* name) { return node.attribute(name).value(); };
    const int line = file.line_of(node.offset_debug());
    if (tag == "host") hosts_.emplace(text("id"), line);
    if (tag == "link" || tag == "backbone") links_.emplace(text("id"), line);
    if (tag == "cluster")
      clusters_.push_back({text("prefix"), text("suffix"), text("id") + std::string("_"), line});
  });
}

int SourceLines::line_of_host(const std::string& name) const {
  if (const auto it = hosts_.find(name); it != hosts_.end()) return it->second;
  for (const Generated& generated : clusters_)
    if (is_generated(name, generated.prefix, generated.suffix)) return generated.line;
  return 0;
}

int SourceLines::line_of_link(const std::string& name) const {
  const std::string cable = without_direction(name);
  for (const std::string& key : {name, cable})
    if (const auto it = links_.find(key); it != links_.end()) return it->second;
  for (const Generated& generated : clusters_)
    if (name.starts_with(generated.links)) return generated.line;
  return 0;
}

}  // namespace pipewright::cluster
