#include "sim/config/variation.hpp"

#include <array>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 3> distribution_names{"normal", "lognormal", "uniform"};

// Reads an index that counts from 0; read_count() does not accept 0.
std::uint32_t read_index(const Field& field, std::string_view noun) {
  const std::string allowed = fmt::format("{}, counted from 0", noun);
  const std::string& text = read_text(field, allowed);
  const std::optional<std::uint32_t> index = base::parse_number<std::uint32_t>(text);
  if (!index) throw wrong(field, allowed);
  return *index;
}

using Straggler = Variation::Straggler;
using SlowLink = Variation::SlowLink;

template <auto member, Words noun>
constexpr auto index = into<member, called<noun, read_index>>({ValueType::count});

constexpr std::array device_straggler_table{
    Key<Straggler>{
        {.name = "device", .help = "number of the slow pipeline device, from 0", .required = true},
        index<&Straggler::device, "a device">},
    Key<Straggler>{{.name = "replica",
                    .help = "number of the slow data-parallel replica, from 0; default: all"},
                   index<&Straggler::replica, "a replica">},
    Key<Straggler>{{.name = "factor",
                    .help = "slowdown factor of the device's passes; below 1, the device is faster",
                    .required = true},
                   within<&Straggler::factor, "a slowdown",
                          "a slowdown of at most 1e6, such as 1.2", 0, 1'000'000>},
};

constexpr std::array slow_link_table{
    Key<SlowLink>{{.name = "link", .help = "id of the link in the platform file", .required = true},
                  text<&SlowLink::link, "the id of a link">},
    Key<SlowLink>{{.name = "factor",
                   .help = "remaining fraction of the bandwidth; 0: failed",
                   .required = true},
                  part<&SlowLink::factor, "a part of the bandwidth">},
};

template <class Item, std::size_t N>
std::vector<Item> read_list(const Field& field, const std::array<Key<Item>, N>& item_table,
                            std::string_view allowed) {
  std::vector<Item> list;
  const auto read = [&](const Field& item) {
    list.push_back({});
    list.back().origin = item.value.origin;
    read_keys<Item>(item, item_table, list.back());
  };
  if (field.value.kind == Value::Kind::map)
    read(field);
  else
    for (const Field& item : items(field, allowed)) read(item);
  return list;
}

std::vector<Straggler> read_stragglers(const Field& field) {
  return read_list(field, device_straggler_table, "{device: 3, factor: 1.2} or a list of them");
}

std::vector<SlowLink> read_slow_links(const Field& field) {
  return read_list(field, slow_link_table, "{link: spine-0, factor: 0.5} or a list of them");
}

constexpr double max_factor = 1'000'000;

double read_factor(const Field& field, std::string_view subject_name) {
  const double factor = read_positive_number(field, "a factor");
  if (factor > max_factor)
    throw wrong(field, fmt::format("a factor on {} of at most 1e6, such as 1.2", subject_name));
  return factor;
}

std::vector<Variation::Bandwidth> read_bandwidth_changes(const Field& field) {
  constexpr std::string_view name = "the bandwidth";
  const Origin& origin = field.value.origin;
  if (field.value.kind == Value::Kind::text)
    return {{std::string(Variation::Bandwidth::all), read_factor(field, name), origin}};
  if (field.value.kind != Value::Kind::map || field.value.entries.empty())
    throw wrong(field, "a factor for all links, or a map from classes of links, such as {nic: 2}");
  std::vector<Variation::Bandwidth> list;
  for (const Entry& entry : field.value.entries)
    list.push_back({entry.key,
                    read_factor({entry.value, fmt::format("{}.{}", field.name, entry.key)}, name),
                    entry.origin});
  return list;
}

double read_power_cap(const Field& field) {
  return parse_power(read_text(field, "a power such as 500 W"), subject(field), "a power cap");
}

constexpr std::array variation_table{
    Key<Variation>{{.name = "jitter",
                    .help = "standard deviation of pass times relative to their mean, from 0 to 1",
                    .default_value = "0"},
                   part<&Variation::jitter, "a deviation">},
    Key<Variation>{
        {.name = "distribution",
         .help =
             "distribution of pass times; normal and uniform are clamped to [0, 2] times the mean",
         .default_value = "normal"},
        choice<&Variation::distribution, distribution_names>},
    Key<Variation>{{.name = "seed",
                    .flag = "--seed",
                    .help = "seed of the random numbers; the same seed gives the same result",
                    .default_value = "1"},
                   index<&Variation::seed, "a seed">},
    Key<Variation>{
        {.name = "stragglers", .help = "slow devices: {device, replica, factor}, or a list"},
        into<&Variation::stragglers, read_stragglers>(
            {ValueType::map, true, {}, [] { return rows_of(device_straggler_table); }})},
    Key<Variation>{
        {.name = "slow_links", .help = "slow or failed links: {link, factor}, or a list"},
        into<&Variation::links, read_slow_links>(
            {ValueType::map, true, {}, [] { return rows_of(slow_link_table); }})},
    Key<Variation>{
        {.name = "bandwidth",
         .help =
             "bandwidth factor of all links, or by class as 'platform show' lists them, {nic: 2}",
         .default_value = "1"},
        into<&Variation::bandwidth, read_bandwidth_changes>({ValueType::map})},
    Key<Variation>{{.name = "latency",
                    .help = "latency factor of all routes of the network",
                    .default_value = "1"},
                   within<&Variation::latency, "a factor", "a factor of at most 1e6, such as 0.5",
                          0, 1'000'000>},
    Key<Variation>{
        {.name = "power_cap",
         .help = "power cap of each GPU, such as 500 W, which lowers its clock; default: "
                 "the power limit of its file"},
        into<&Variation::power_cap, read_power_cap>({ValueType::number})},
};

}  // namespace

Variation read_variation(const Field& field) { return read_map<variation_table>(field); }

std::vector<KeyRow> variation_keys() { return rows_of(variation_table); }

}  // namespace pipewright::config
