#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <pugixml.hpp>
#include <strings.h>

#include "sim/base/numbers.hpp"
#include "sim/cluster/platform/names.hpp"
#include "sim/cluster/platform/platform.hpp"
#include "sim/cluster/platform/platform_builder.hpp"
#include "sim/cluster/platform/quantity.hpp"

namespace pipewright::cluster {
namespace {

using pugi::xml_node;

struct Element {
  std::string_view name;
  std::array<std::string_view, 12> attributes;
};
constexpr std::array elements{
    Element{"platform", {"version"}},
    Element{"zone", {"id", "routing"}},
    Element{"cluster",
            {"id", "prefix", "suffix", "radical", "speed", "core", "bw", "lat", "sharing_policy",
             "router_id", "topology", "topo_parameters"}},
    Element{"host", {"id", "speed", "core"}},
    Element{"router", {"id"}},
    Element{"link", {"id", "bandwidth", "latency", "sharing_policy"}},
    Element{"route", {"src", "dst", "symmetrical"}},
    Element{"zoneRoute", {"src", "dst", "gw_src", "gw_dst", "symmetrical"}},
    Element{"link_ctn", {"id", "direction"}},
    Element{"prop", {"id", "value"}},
};

void check_supported(const xml_node& node) {
  const auto element =
      std::find_if(elements.begin(), elements.end(),
                   [&](const Element& candidate) { return candidate.name == node.name(); });
  if (element == elements.end()) throw OnlySimgrid{};
  for (const pugi::xml_attribute& attribute : node.attributes()) {
    const auto& attributes = element->attributes;
    if (std::find(attributes.begin(), attributes.end(), attribute.name()) == attributes.end())
      throw OnlySimgrid{};
  }
}

bool is(const xml_node& node, std::string_view tag) { return node.name() == tag; }

class PlatformReader {
 public:
  explicit PlatformReader(const PlatformFile& file) : file_(file), builder_(file) {}

  Platform read() {
    const xml_node root = file_.document().child("platform");
    check_supported(root);
    const std::string version = text(root, "version");
    if (version != "4.1" && version != "4") throw OnlySimgrid{};
    const std::vector<xml_node> children = content(root);
    if (children.empty())
      fail(root, Error("<platform> is empty").suggest("put hosts and links into a <zone>"));
    if (children.size() > 1) throw OnlySimgrid{};
    read_element(children.front(), nothing);
    return builder_.finish();
  }

 private:
  [[noreturn]] void fail(const xml_node& node, const Error& error) const {
    file_.fail(node.offset_debug(), error);
  }
  static const char* id(const xml_node& node) { return node.attribute("id").value(); }
  std::string text(const xml_node& node, const char* attribute) const {
    const pugi::xml_attribute value = node.attribute(attribute);
    if (!value)
      fail(node, fmt::format("<{}> '{}' lacks {}=\"..\"", node.name(), id(node), attribute));
    return value.value();
  }
  static std::string text_or(const xml_node& node, const char* attribute, const char* absent) {
    return node.attribute(attribute).as_string(absent);
  }
  double number(const xml_node& node, const char* attribute, const std::string& value,
                Quantity quantity) const {
    const std::optional<double> number = parse_quantity(value, quantity);
    if (!number)
      fail(node, fmt::format("{} '{}' of {} '{}' is not a number with a unit that SimGrid knows",
                             attribute, value, node.name(), id(node)));
    return *number;
  }

  // Returns the child elements without comments, in the order that SimGrid requires: properties,
  // then members, then the routes between them.
  std::vector<xml_node> content(const xml_node& node) const {
    std::vector<xml_node> children;
    for (const xml_node& child : node.children()) {
      if (child.type() == pugi::node_comment) continue;
      if (child.type() != pugi::node_element) throw OnlySimgrid{};
      check_supported(child);
      const auto is_route = [](const xml_node& entry) {
        return is(entry, "route") || is(entry, "zoneRoute");
      };
      if (!children.empty() && is_route(children.back()) && !is_route(child))
        fail(child, Error(fmt::format("<{}> follows a route", child.name()))
                        .suggest(fmt::format("put the routes of zone '{}' last", id(node))));
      if (!children.empty() && is(child, "prop") && !is(children.back(), "prop"))
        fail(child, fmt::format("<prop> must come first in '{}'", id(node)));
      children.push_back(child);
    }
    return children;
  }

  Platform::Properties properties(const xml_node& node) const {
    Platform::Properties properties;
    for (const xml_node& child : content(node)) {
      if (!is(child, "prop")) throw OnlySimgrid{};
      properties.emplace_back(text(child, "id"), text(child, "value"));
    }
    return properties;
  }
  static std::string class_of(const std::string& name, const Platform::Properties& properties) {
    for (const auto& [key, value] : properties)
      if (key == "class") return value;
    return without_numbers(name);
  }

  void read_element(const xml_node& node, Index zone) {
    if (is(node, "zone")) return read_zone(node, zone);
    if (is(node, "cluster")) return read_cluster(node, zone);
    if (zone == nothing) throw OnlySimgrid{};
    if (is(node, "host")) {
      builder_.add_host(node.offset_debug(), text(node, "id"), zone, host_spec(node));
    } else if (is(node, "router")) {
      builder_.add_router(node.offset_debug(), text(node, "id"), zone);
    } else if (is(node, "link")) {
      read_link(node);
    } else if (is(node, "route") || is(node, "zoneRoute")) {
      read_route(node, zone);
    } else if (!is(node, "prop")) {
      throw OnlySimgrid{};
    }
  }

  void read_zone(const xml_node& node, Index parent) {
    constexpr std::array<std::pair<const char*, Platform::Routing>, 5> routings{
        {{"Full", Platform::Routing::full},
         {"None", Platform::Routing::none},
         {"Floyd", Platform::Routing::tree},
         {"Dijkstra", Platform::Routing::tree},
         {"DijkstraCache", Platform::Routing::tree}}};
    const std::string name = text(node, "routing");
    const auto routing = std::find_if(routings.begin(), routings.end(), [&](const auto& entry) {
      return strcasecmp(entry.first, name.c_str()) == 0;
    });
    if (routing == routings.end()) throw OnlySimgrid{};
    const Index zone =
        builder_.add_zone(node.offset_debug(), text(node, "id"), routing->second, parent);
    const char* member_kind = nullptr;
    for (const xml_node& child : content(node)) {
      const char* child_kind = is(child, "zone") || is(child, "cluster")  ? "zones"
                               : is(child, "host") || is(child, "router") ? "hosts"
                                                                          : member_kind;
      if (member_kind != nullptr && member_kind != child_kind)
        fail(child, Error(fmt::format("zone '{}' has {}, so it cannot have {}", id(node),
                                      member_kind, child_kind))
                        .suggest("put them into a separate zone"));
      member_kind = child_kind;
      read_element(child, zone);
    }
  }

  PlatformBuilder::HostSpec host_spec(const xml_node& node) const {
    const std::string speed = text(node, "speed");
    if (speed.find(',') != std::string::npos) throw OnlySimgrid{};
    const std::string cores = text_or(node, "core", "1");
    PlatformBuilder::HostSpec spec{.speed = number(node, "speed", speed, Quantity::speed),
                                   .cores = 0,
                                   .properties = properties(node)};
    spec.cores = base::parse_number<decltype(spec.cores)>(cores).value_or(0);
    if (spec.cores < 1)
      fail(node, fmt::format("core '{}' of {} '{}' must be a whole number >= 1", cores, node.name(),
                             id(node)));
    return spec;
  }

  void read_cluster(const xml_node& node, Index parent) {
    const std::string topology = text_or(node, "topology", "FLAT");
    const std::string policy = text_or(node, "sharing_policy", "SPLITDUPLEX");
    if (policy != "SPLITDUPLEX" && policy != "SHARED") throw OnlySimgrid{};
    PlatformBuilder::ClusterSpec spec{.name = text(node, "id"), .host = host_spec(node)};
    const auto radical = parse_radical(text(node, "radical"));
    if (!radical)
      fail(node, fmt::format("radical '{}' of cluster '{}' must be numbers and ranges of at most "
                             "1000000 hosts, such as \"0-7\" or \"0-3,8\"",
                             text(node, "radical"), spec.name));
    const std::string prefix = text(node, "prefix");
    const std::string suffix = text(node, "suffix");
    for (const int i : *radical)
      spec.hosts.emplace_back(fmt::format("{}{}{}", prefix, i, suffix), i);
    spec.router = text_or(node, "router_id", "");
    if (spec.router.empty()) spec.router = prefix + spec.name + "_router" + suffix;
    spec.link = {.bandwidth = number(node, "bw", text(node, "bw"), Quantity::bandwidth),
                 .latency = number(node, "lat", text(node, "lat"), Quantity::time),
                 .duplex = policy == "SPLITDUPLEX",
                 .link_class = class_of(spec.name + "_link", spec.host.properties)};
    if (topology == "FLAT") return builder_.add_star(node.offset_debug(), parent, spec);
    if (topology != "TORUS" || !spec.link.duplex) throw OnlySimgrid{};
    spec.sides = torus_sides(text(node, "topo_parameters"), spec.hosts.size());
    builder_.add_torus(node.offset_debug(), parent, spec);
  }
  // Parses the sizes of the torus dimensions. Their product must be the number of hosts. Dimensions
  // of size 1 are left out: their links, from a host to itself, are on no route.
  static std::vector<Index> torus_sides(const std::string& text, std::size_t hosts) {
    const auto numbers = text.find('-') == std::string::npos ? parse_radical(text) : std::nullopt;
    if (!numbers) throw OnlySimgrid{};
    std::vector<Index> sides;
    std::size_t corners = 1;
    for (const int side : *numbers) {
      if (side < 1) throw OnlySimgrid{};
      if (side == 1) continue;
      sides.push_back(static_cast<Index>(side));
      corners *= sides.back();
    }
    if (sides.empty()) sides.push_back(1);
    if (corners != hosts) throw OnlySimgrid{};
    return sides;
  }

  void read_link(const xml_node& node) {
    const std::string policy = text_or(node, "sharing_policy", "SHARED");
    const std::string bandwidth = text(node, "bandwidth");
    if (policy == "WIFI" || policy == "FULLDUPLEX" || bandwidth.find(',') != std::string::npos)
      throw OnlySimgrid{};
    if (policy != "SHARED" && policy != "SPLITDUPLEX" && policy != "FATPIPE")
      fail(node, fmt::format("sharing_policy '{}' of link '{}' must be SPLITDUPLEX, SHARED or "
                             "FATPIPE",
                             policy, id(node)));
    const std::string name = text(node, "id");
    builder_.add_link(
        node.offset_debug(), name,
        {.bandwidth = number(node, "bandwidth", bandwidth, Quantity::bandwidth),
         .latency = number(node, "latency", text_or(node, "latency", "0"), Quantity::time),
         .fatpipe = policy == "FATPIPE",
         .duplex = policy == "SPLITDUPLEX",
         .link_class = class_of(name, properties(node))});
  }

  void read_route(const xml_node& node, Index zone) {
    PlatformBuilder::RouteSpec spec{.source = text(node, "src"),
                                    .destination = text(node, "dst"),
                                    .source_gateway = {},
                                    .destination_gateway = {},
                                    .symmetrical = true,
                                    .links = {}};
    if (is(node, "zoneRoute")) {
      spec.source_gateway = text(node, "gw_src");
      spec.destination_gateway = text(node, "gw_dst");
    }
    const std::string symmetrical = text_or(node, "symmetrical", "YES");
    spec.symmetrical = symmetrical == "YES" || symmetrical == "yes";
    for (const xml_node& child : content(node)) {
      if (!is(child, "link_ctn")) throw OnlySimgrid{};
      const std::string direction = text_or(child, "direction", "NONE");
      if (direction != "UP" && direction != "DOWN" && direction != "NONE")
        fail(child, fmt::format("direction '{}' must be UP, DOWN or NONE", direction));
      spec.links.emplace_back(text(child, "id"), direction.front());
    }
    builder_.add_route(node.offset_debug(), zone, spec);
  }

  const PlatformFile& file_;
  PlatformBuilder builder_;
};

}  // namespace

std::optional<Platform> read_platform(const PlatformFile& file) {
  try {
    return PlatformReader(file).read();
  } catch (const OnlySimgrid&) {
    return std::nullopt;
  }
}

}  // namespace pipewright::cluster
