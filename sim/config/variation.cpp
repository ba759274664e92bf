#include "sim/config/variation.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>

#include "sim/config/units.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 3> distributions{"normal", "lognormal", "uniform"};

// From 0, where read_count begins at 1.
std::uint32_t read_index(const Field& field, std::string_view noun) {
  const std::string allowed = fmt::format("{}, counted from 0", noun);
  const std::string& text = read_text(field, allowed);
  std::uint32_t index = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, index);
  if (code != std::errc{} || rest != end) throw wrong(field, allowed);
  return index;
}

// Of times, which stay numbers that tables can hold.
double read_factor(const Field& field) {
  constexpr double most = 1e6;
  const double factor = read_positive_number(field, "a slow-down");
  if (factor > most) throw wrong(field, "a slow-down of at most 1e6, such as 1.2");
  return factor;
}

constexpr std::array straggler_table{
    Key<Variation::Straggler>{
        {.name = "device", .help = "pipeline device, from 0", .required = true},
        [](const Field& f, auto& s) { s.device = read_index(f, "a device"); }},
    Key<Variation::Straggler>{
        {.name = "replica", .help = "data-parallel replica, from 0; else all of them"},
        [](const Field& f, auto& s) { s.replica = read_index(f, "a replica"); }},
    Key<Variation::Straggler>{
        {.name = "factor", .help = "its passes take so many times as long", .required = true},
        [](const Field& f, auto& s) { s.factor = read_factor(f); }},
};

constexpr std::array link_table{
    Key<Variation::SlowLink>{
        {.name = "link", .help = "its id in the platform file", .required = true},
        [](const Field& f, auto& s) { s.link = read_text(f, "the id of a link"); }},
    Key<Variation::SlowLink>{
        {.name = "factor",
         .help = "the part of its bandwidth that is left; 0: it has failed",
         .required = true},
        [](const Field& f, auto& s) { s.factor = read_part(f, "a part of the bandwidth"); }},
};

template <class Item, std::size_t N>
std::vector<Item> read_list(const Field& field, const std::array<Key<Item>, N>& table,
                            std::string_view allowed) {
  std::vector<Item> list;
  const auto read = [&](const Field& item) {
    list.push_back({});
    list.back().origin = item.value.origin;
    read_keys<Item>(item, table, list.back());
  };
  if (field.value.kind == Value::Kind::map)
    read(field);
  else
    for (const Field& item : items(field, allowed)) read(item);
  return list;
}

constexpr std::array table{
    Key<Variation>{{.name = "jitter",
                    .help = "standard deviation of a pass's time over its mean, from 0 to 1 (0)"},
                   [](const Field& f, Variation& v) { v.jitter = read_part(f, "a deviation"); }},
    Key<Variation>{
        {.name = "distribution",
         .help = "of the times: normal or uniform, cut at 0 and twice the mean, or lognormal "
                 "(normal)"},
        [](const Field& f, Variation& v) {
          v.distribution = static_cast<Variation::Distribution>(read_choice(f, distributions));
        }},
    Key<Variation>{{.name = "seed", .help = "of the random numbers: same seed, same result (1)"},
                   [](const Field& f, Variation& v) { v.seed = read_index(f, "a seed"); }},
    Key<Variation>{
        {.name = "stragglers", .help = "slow devices: {device, replica, factor}, or a list"},
        [](const Field& f, Variation& v) {
          v.stragglers =
              read_list(f, straggler_table, "{device: 3, factor: 1.2} or a list of them");
        }},
    Key<Variation>{
        {.name = "slow_links", .help = "slow or failed links: {link, factor}, or a list"},
        [](const Field& f, Variation& v) {
          v.links = read_list(f, link_table, "{link: spine-0, factor: 0.5} or a list of them");
        }},
};

}  // namespace

Variation read_variation(const Field& field) {
  Variation variation;
  read_keys<Variation>(field, table, variation);
  return variation;
}

std::vector<KeyInfo> variation_keys() { return key_infos(table); }

}  // namespace pipewright::config
