#include "analysis/commlogs/reports/matrix_report.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/report/report_table.hpp"
#include "analysis/report/text_table.hpp"
#include "analysis/report/units_text.hpp"

namespace pipewright::analysis {
namespace {

constexpr std::size_t max_text_rows = 16;  // Most rows of a matrix in text.

std::string matrix_gigabytes(double bytes_per_s) {
  const double value = bytes_per_s / 1e9;
  return value < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}
std::string matrix_microseconds(double seconds) { return fmt::format("{:.3g}", seconds * 1e6); }

ReportColumns<PairClass> pair_class_columns(std::uint64_t message) {
  using Class = PairClass;
  const auto bandwidth = [message](const Class& pair_class) { return pair_class.reached(message); };
  ReportColumns<Class> columns{
      {"where", {"where"}, Quantity::name(), &Class::where},
      {"links", {"links"}, Quantity::name(), &Class::links},
      {"pairs", {"pairs"}, Quantity::count(), &Class::pairs},
      {"bandwidth_bytes_per_s", &Class::bandwidth},
      {"latency_s", {"latency", "us"}, Quantity::each_as(matrix_microseconds), &Class::latency}};
  if (message > 0) columns.emplace_back("message_bandwidth_bytes_per_s", bandwidth);
  columns.emplace_back("first_sender", &Class::sender);
  columns.emplace_back("first_receiver", &Class::receiver);
  columns.push_back(table_only<Class>(
      {"reached", {"bandwidth", "GB/s"}, Quantity::each_as(matrix_gigabytes), bandwidth}));
  columns.push_back(
      table_only<Class>({"first", {"first pair"}, Quantity::name(), [](const Class& pair_class) {
                           return pair_class.sender + " to " + pair_class.receiver;
                         }}));
  return columns;
}

std::string classes_text(const MatrixReport& report) {
  return table_text(picked(pair_class_columns(report.message),
                           {"where", "pairs", "links", "reached", "latency_s", "first"}),
                    report.by_gpu.classes);
}

std::string cells_text(const PairMatrix& matrix, const std::string& title,
                       const std::vector<std::string>& class_cells) {
  TextTable table;
  std::vector<std::string> names, numbers;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    names.push_back(printable(matrix.names[i]));
    numbers.push_back(fmt::format("{}", i));
  }
  table.add_names(title, std::move(names));
  table.add_numbers({""}, numbers);
  for (std::size_t j = 0; j < matrix.size(); ++j) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      const std::uint32_t number = matrix.at(i, j);
      cells.push_back(number == PairMatrix::itself ? "-" : class_cells[number]);
    }
    table.add_numbers({numbers[j]}, std::move(cells));
  }
  return table.text();
}

std::string matrices_text(const MatrixReport& report) {
  const PairMatrix& matrix = report.matrix;
  if (!matrix.is_whole() || matrix.size() > max_text_rows) return "";
  std::vector<std::string> bandwidths, latencies;
  for (const PairClass& pair_class : matrix.classes) {
    bandwidths.push_back(matrix_gigabytes(pair_class.reached(report.message)));
    latencies.push_back(matrix_microseconds(pair_class.latency));
  }
  return '\n' + cells_text(matrix, "GB/s from", bandwidths) + '\n' +
         cells_text(matrix, "us from", latencies);
}

std::string contention_text(const MatrixReport& report) {
  const Contention& contention = report.contention;
  const auto half = static_cast<double>(std::max<std::size_t>(report.by_gpu.size() / 2, 1));
  const auto gpus = [&](double rate) {
    return fmt::format("{} GB/s, {} per GPU", matrix_gigabytes(rate),
                       matrix_gigabytes(rate / half));
  };
  std::string text =
      fmt::format("\nfirst half of the GPUs to the second, along rails (bisection): {}\n",
                  gpus(contention.bisection));
  if (contention.all_pairs > 0)
    text += fmt::format("first half of the GPUs to the second, each to each:            {}\n",
                        gpus(contention.all_pairs));
  text += '\n';
  struct Line {
    std::string name;
    const PermutationFigures& figures;
  };
  const std::array lines{
      Line{fmt::format("shift by {}", report.by_gpu.size() / 2), contention.half_shift},
      Line{"worst found: " + contention.worst_from, contention.worst}};
  const auto bottleneck = [](const Line& line) {
    const PermutationFigures& figures = line.figures;
    return figures.link.empty()
               ? "no shared link"
               : fmt::format("{}, {} GB/s", figures.link, matrix_gigabytes(figures.link_bandwidth));
  };
  const auto flows = [](const Line& line) {
    return line.figures.link.empty() ? Json("") : Json(line.figures.link_flows);
  };
  const auto share = [](double ratio) { return fmt::format("{:.0f} %", 100 * ratio); };
  const ReportColumns<Line> columns{
      {"name", {"permutation"}, Quantity::name(), &Line::name},
      {"slowest",
       {"slowest", "GB/s"},
       Quantity::each_as(matrix_gigabytes),
       [](const Line& line) { return line.figures.slowest; }},
      {"total",
       {"total", "GB/s"},
       Quantity::each_as(matrix_gigabytes),
       [](const Line& line) { return line.figures.total; }},
      {"of_alone",
       {"share of", "total", "alone"},
       Quantity::each_as(share),
       [](const Line& line) { return line.figures.total / line.figures.alone; }},
      {"link", {"bottleneck of slowest"}, Quantity::name(), bottleneck},
      {"flows", {"flows", "on it"}, Quantity::count(), flows}};
  text += table_text(columns, lines);
  if (contention.slowest_bound > 0)
    text += fmt::format("{} permutations tried; no permutation slows a flow below {} GB/s\n",
                        contention.tried, matrix_gigabytes(contention.slowest_bound));
  else
    text += fmt::format("{} permutations tried\n", contention.tried);
  return text;
}

// Returns the class numbers, one row per sender; a GPU with itself is null.
Json cells_json(const PairMatrix& matrix) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < matrix.size() && matrix.is_whole(); ++i) {
    Json row = Json::array();
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      const std::uint32_t number = matrix.at(i, j);
      row.push_back(number == PairMatrix::itself ? Json(nullptr) : Json(number));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json permutation_json(const PermutationFigures& figures, const PairMatrix& gpus) {
  Json json{{"slowest_bytes_per_s", figures.slowest},
            {"total_bytes_per_s", figures.total},
            {"total_alone_bytes_per_s", figures.alone},
            {"slowest_sender", gpus.names[figures.slowest_sender]},
            {"slowest_receiver", gpus.names[figures.slowest_receiver]}};
  if (figures.link.empty()) {
    json["full_link"] = nullptr;
  } else {
    json["full_link"] = {{"name", figures.link},
                         {"class", figures.link_class},
                         {"bandwidth_bytes_per_s", figures.link_bandwidth},
                         {"flows", figures.link_flows}};
  }
  json["receiver_of"] = figures.receiver_of;
  return json;
}

}  // namespace

std::string matrix_text(const MatrixReport& report) {
  const std::size_t gpus = report.by_gpu.size();
  const std::set<std::uint32_t> nodes(report.by_gpu.nodes.begin(), report.by_gpu.nodes.end());
  std::string text = fmt::format("{}: {} GPUs on {} {}\n", printable(report.cluster), gpus,
                                 nodes.size(), nodes.size() == 1 ? "node" : "nodes");
  if (!report.by_gpu.is_whole())
    text += fmt::format("{} of {} pairs were examined, evenly sampled\n", report.by_gpu.pairs,
                        std::uint64_t{gpus} * (gpus - 1));
  if (report.message > 0)
    text += fmt::format("bandwidth is that of messages of {}, including their latency\n",
                        format_exact_bytes(report.message));
  return text + '\n' + classes_text(report) + matrices_text(report) + contention_text(report);
}

std::string matrix_json(const MatrixReport& report) {
  const Contention& contention = report.contention;
  Json json{{"cluster", report.cluster}, {"gpus", report.by_gpu.names}};
  json["nodes"] = report.by_gpu.nodes;
  json["pairs_looked_at"] = report.by_gpu.pairs;
  json["message_bytes"] = report.message > 0 ? Json(report.message) : Json(nullptr);
  json["classes"] = json_rows(pair_class_columns(report.message), report.by_gpu.classes);
  json["matrix"] = {{"rows", report.matrix.names}, {"class_of", cells_json(report.matrix)}};
  json["bisection_bytes_per_s"] = contention.bisection;
  json["all_pairs_bytes_per_s"] =
      contention.all_pairs > 0 ? Json(contention.all_pairs) : Json(nullptr);
  json["half_shift"] = permutation_json(contention.half_shift, report.by_gpu);
  json["worst_found"] = permutation_json(contention.worst, report.by_gpu);
  json["worst_found"]["from"] = contention.worst_from;
  json["permutations_tried"] = contention.tried;
  json["slowest_bound_bytes_per_s"] =
      contention.slowest_bound > 0 ? Json(contention.slowest_bound) : Json(nullptr);
  json["definitions"] = "analysis/metrics.md";
  return json_line(json) + '\n';
}

void write_matrix_csv(const MatrixReport& report, std::ostream& out) {
  struct Pair {
    const std::string& sender;
    const std::string& receiver;
    const PairClass& network;
  };
  ReportColumns<Pair> columns{
      {"sender", [](const Pair& pair) { return pair.sender; }},
      {"receiver", [](const Pair& pair) { return pair.receiver; }},
      {"bandwidth_bytes_per_s", [](const Pair& pair) { return pair.network.bandwidth; }},
      {"latency_s", [](const Pair& pair) { return pair.network.latency; }},
      {"where", [](const Pair& pair) { return pair.network.where; }},
      {"links", [](const Pair& pair) { return pair.network.links; }}};
  if (report.message > 0) {
    columns.emplace_back("message_bytes", [&](const Pair&) { return report.message; });
    columns.emplace_back("message_bandwidth_bytes_per_s",
                         [&](const Pair& pair) { return pair.network.reached(report.message); });
  }
  const PairMatrix& matrix = report.matrix;
  out << csv_heading(columns) << '\n';
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix.size(); ++j)
      if (matrix.at(i, j) != PairMatrix::itself)
        out << csv_line(columns,
                        Pair{matrix.names[i], matrix.names[j], matrix.classes[matrix.at(i, j)]})
            << '\n';
}

}  // namespace pipewright::analysis
