#include "sim/config/sites.hpp"

#include <fmt/format.h>

#include "sim/config/text/units.hpp"

namespace pipewright::config {
namespace {

double read_connection(const Field& field) {
  return parse_storage_rate(read_text(field, "a rate such as 10 Gbit/s"), subject(field),
                            "a bandwidth between sites");
}

constexpr std::array sites_table{
    Key<Sites>{{.name = "count",
                .help = "number of sites, each with the scenario's GPUs",
                .required = true},
               count<&Sites::count, "4">},
    Key<Sites>{{.name = "bandwidth",
                .help = "bandwidth of a site's connection to the others, each way",
                .required = true},
               into<&Sites::bandwidth, read_connection>({ValueType::rate})},
    Key<Sites>{{.name = "latency",
                .help = "time of an exchange in addition to the transfer of its bytes",
                .default_value = "0"},
               time<&Sites::latency, "a time">},
    Key<Sites>{{.name = "every",
                .help = "iterations between two exchanges of the same weights",
                .default_value = "100"},
               count<&Sites::every, "100">},
    Key<Sites>{{.name = "fragments",
                .help = "number of parts of the weights, which are exchanged in turn",
                .default_value = "1"},
               count<&Sites::fragments, "4">},
    Key<Sites>{{.name = "overlap",
                .help = "number of iterations for which training may go on during an exchange",
                .default_value = "0"},
               {[](const Field& field, Sites& sites) {
                  sites.overlap = field.value.text == "0" ? 0 : read_count(field, "5");
                },
                {ValueType::count}}},
    Key<Sites>{{.name = "precision",
                .help = "data type of the weight changes that sites exchange",
                .default_value = "bf16"},
               choice<&Sites::precision, site_precisions>},
};

}  // namespace

Sites read_sites(const Field& field) {
  Sites sites = read_map<sites_table>(field);
  const auto fail = [&](const char* key, const std::string& value, const std::string& allowed) {
    throw Error(origin_of(field.value, key), fmt::format("{}.{} is {}", field.name, key, value))
        .allow(allowed);
  };
  if (sites.count.value < 2) fail("count", "1", "2 sites or more");
  constexpr std::uint32_t max_every = 100'000;
  if (sites.every > max_every)
    fail("every", std::to_string(sites.every), fmt::format("at most {} iterations", max_every));
  if (sites.fragments > sites.every)
    fail("fragments",
         fmt::format("{}, with an exchange every {} iterations", sites.fragments, sites.every),
         fmt::format("at most {}: an exchange begins at the end of an iteration", sites.every));
  if (sites.overlap >= sites.every)
    fail("overlap",
         fmt::format("{}, with an exchange every {} iterations", sites.overlap, sites.every),
         fmt::format("at most {}", sites.every - 1));
  return sites;
}

std::vector<KeyRow> sites_keys() { return rows_of(sites_table); }

}  // namespace pipewright::config
