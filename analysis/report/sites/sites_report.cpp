#include "analysis/report/sites/sites_report.hpp"

#include <fmt/format.h>

#include "analysis/report/report_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

// Returns a text such as "2.5 Gbit/s".
std::string format_connection(double bytes_per_s) {
  if (bytes_per_s == 0) return "none";
  const double bits = 8 * bytes_per_s;
  if (bits >= 1e12) return fmt::format("{:.3g} Tbit/s", bits / 1e12);
  return bits >= 1e9 ? fmt::format("{:.3g} Gbit/s", bits / 1e9)
                     : fmt::format("{:.3g} Mbit/s", bits / 1e6);
}

std::string loop_text(const SitesReport& report) {
  std::string name =
      report.fragments == 1 ? "whole" : fmt::format("{} fragments", report.fragments);
  if (report.overlap > 0) name += fmt::format(", overlap {}", report.overlap);
  return name;
}

// Returns a table with a column for each way of training. `heads` names the rows, and `head` their
// column.
template <class Row, class Write>
std::string ways_text(const SitesReport& report, const char* head, const std::vector<Row>& rows,
                      const std::vector<std::string>& heads, const Write& write) {
  std::vector<std::string> every_iteration;
  std::vector<std::string> whole;
  std::vector<std::string> loop;
  for (const Row& row : rows) {
    every_iteration.push_back(write(row.every_iteration));
    whole.push_back(write(row.whole));
    loop.push_back(write(row.loop));
  }
  TextTable table;
  table.add_numbers({head}, heads);
  table.add_numbers({"every", "iteration"}, every_iteration);
  table.add_numbers({fmt::format("every {}", report.every), "whole"}, whole);
  // The column before has the way of training without fragments and overlap.
  if (report.fragments > 1 || report.overlap > 0)
    table.add_numbers({fmt::format("every {}", report.every), loop_text(report)}, loop);
  return table.text();
}

}  // namespace

std::string sites_text(const SitesReport& report) {
  std::string text = fmt::format(
      "{}\n{} of {}, each with {}{}\nevery {}: {}, {} in {}\n\n", report.subject,
      counted(report.sites, "site"), counted(report.gpus, "GPU"),
      format_connection(report.bandwidth),
      report.latency_s > 0 ? fmt::format(" and a latency of {}", format_seconds(report.latency_s))
                           : "",
      counted(report.every, "iteration"), loop_text(report),
      format_bytes(static_cast<std::uint64_t>(report.fragment_bytes * report.fragments)),
      report.precision);
  text +=
      fmt::format("utilisation {}, {} of {} take {}{}\n", format_percent(report.utilisation),
                  counted(report.every, "iteration"), format_seconds(report.iteration_s),
                  format_seconds(report.round_s),
                  report.tokens_per_s ? ", " + format_rate(*report.tokens_per_s, "tokens") : "");
  text += fmt::format(
      "an exchange takes {}; training waits {} for it at most; connections are busy "
      "for {} of the time\n\n",
      format_seconds(report.exchange_s), format_seconds(report.longest_wait_s),
      format_percent(report.connection_busy));
  std::vector<std::string> bandwidths;
  for (const SitesUtilisation& row : report.by_bandwidth)
    bandwidths.push_back(format_connection(row.bandwidth));
  text += "utilisation by the bandwidth of a site\n" +
          ways_text(report, "bandwidth", report.by_bandwidth, bandwidths,
                    [](double share) { return format_percent(share); });
  std::vector<std::string> targets;
  for (const SitesBandwidth& row : report.needed)
    targets.push_back(fmt::format("{:.0f} %", 100 * row.utilisation));
  text += "\nbandwidth that a utilisation needs\n" +
          ways_text(report, "utilisation", report.needed, targets, format_connection);
  return text;
}

std::string sites_json(const SitesReport& report) {
  Json json{{"subject", report.subject},
            {"sites", report.sites},
            {"gpus_per_site", report.gpus},
            {"bandwidth_bytes_per_s", report.bandwidth},
            {"latency_s", report.latency_s},
            {"every", report.every},
            {"fragments", report.fragments},
            {"overlap", report.overlap},
            {"precision", report.precision},
            {"iteration_s", report.iteration_s},
            {"fragment_bytes", report.fragment_bytes},
            {"exchange_s", report.exchange_s},
            {"round_s", report.round_s},
            {"utilisation", report.utilisation},
            {"longest_wait_s", report.longest_wait_s},
            {"connection_busy", report.connection_busy}};
  if (report.tokens_per_s) json["tokens_per_s"] = *report.tokens_per_s;
  json["by_bandwidth"] = Json::array();
  for (const SitesUtilisation& row : report.by_bandwidth)
    json["by_bandwidth"].push_back({{"bandwidth_bytes_per_s", row.bandwidth},
                                    {"every_iteration", row.every_iteration},
                                    {"whole", row.whole},
                                    {"loop", row.loop}});
  json["needed"] = Json::array();
  for (const SitesBandwidth& row : report.needed)
    json["needed"].push_back({{"utilisation", row.utilisation},
                              {"every_iteration_bytes_per_s", row.every_iteration},
                              {"whole_bytes_per_s", row.whole},
                              {"loop_bytes_per_s", row.loop}});
  json["notes"] = report.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipewright::analysis
