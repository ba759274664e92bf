#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/comm/reports/matrix_report.hpp"
#include "analysis/text_table.hpp"

namespace pipewright::analysis {
namespace {

using Json = nlohmann::ordered_json;

Json classes_json(const PairMatrix& matrix, std::uint64_t message) {
  Json json = Json::array();
  for (const PairClass& one : matrix.classes) {
    Json item{{"where", one.where},
              {"links", one.links},
              {"pairs", one.pairs},
              {"bandwidth_bytes_per_s", one.bandwidth},
              {"latency_s", one.latency}};
    if (message > 0) item["message_bandwidth_bytes_per_s"] = one.reached(message);
    item["first_sender"] = one.sender;
    item["first_receiver"] = one.receiver;
    json.push_back(std::move(item));
  }
  return json;
}

// A row for each sender; of itself: null.
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

Json permutation_json(const PermutationFigures& one, const PairMatrix& gpus) {
  Json json{{"slowest_bytes_per_s", one.slowest},
            {"total_bytes_per_s", one.total},
            {"total_alone_bytes_per_s", one.alone},
            {"slowest_sender", gpus.names[one.slowest_sender]},
            {"slowest_receiver", gpus.names[one.slowest_receiver]}};
  if (one.link.empty()) {
    json["full_link"] = nullptr;
  } else {
    json["full_link"] = {{"name", one.link},
                         {"class", one.link_class},
                         {"bandwidth_bytes_per_s", one.link_bandwidth},
                         {"flows", one.link_flows}};
  }
  json["receiver_of"] = one.receiver_of;
  return json;
}

}  // namespace

std::string matrix_json(const MatrixReport& report) {
  const Contention& contention = report.contention;
  Json json{{"cluster", report.cluster}, {"gpus", report.by_gpu.names}};
  json["nodes"] = report.by_gpu.nodes;
  json["pairs_looked_at"] = report.by_gpu.pairs;
  json["message_bytes"] = report.message > 0 ? Json(report.message) : Json(nullptr);
  json["classes"] = classes_json(report.by_gpu, report.message);
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
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void write_matrix_csv(const MatrixReport& report, std::ostream& out) {
  const PairMatrix& matrix = report.matrix;
  out << "sender,receiver,bandwidth_bytes_per_s,latency_s,where,links";
  out << (report.message > 0 ? ",message_bytes,message_bandwidth_bytes_per_s\n" : "\n");
  for (std::size_t i = 0; i < matrix.size(); ++i)
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      if (matrix.at(i, j) == PairMatrix::itself) continue;
      const PairClass& one = matrix.classes[matrix.at(i, j)];
      out << fmt::format("{},{},{},{},{},{}", csv_field(matrix.names[i]),
                         csv_field(matrix.names[j]), one.bandwidth, one.latency, one.where,
                         csv_field(one.links));
      if (report.message > 0)
        out << fmt::format(",{},{}", report.message, one.reached(report.message));
      out << '\n';
    }
}

}  // namespace pipewright::analysis
