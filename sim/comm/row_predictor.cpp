#include "sim/comm/row_predictor.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "sim/comm/predict_rows.hpp"

namespace pipewright::comm {

RowPredictor::RowPredictor(cluster::Cluster& cluster, std::span<const Parameter> parameters,
                           std::span<const analysis::Measurement> rows)
    : cluster_(cluster), parameters_(parameters), rows_(rows) {
  for (const Parameter& parameter : parameters) values_.push_back(parameter.value);
  std::map<std::tuple<analysis::Operation, std::uint32_t, std::uint32_t>, std::size_t> curve_of;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto key = std::tuple(rows[i].operation, rows[i].ranks, rows[i].nodes);
    const auto [place, is_new] = curve_of.emplace(key, curves_.size());
    if (is_new) curves_.push_back({setting_of(cluster, rows[i]), {}});
    curves_[place->second].rows.push_back(i);
  }
}

std::vector<double> RowPredictor::seconds(std::span<const std::size_t> chosen,
                                          std::span<const double> values) {
  std::vector<double> wanted;
  for (const Parameter& parameter : parameters_) wanted.push_back(parameter.value);
  for (std::size_t i = 0; i < chosen.size(); ++i) wanted[chosen[i]] = values[i];
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != values_[i]) cluster_.set_parameter(parameters_[i].name, wanted[i]);
  values_ = std::move(wanted);
  std::vector<double> predicted(rows_.size());
  for (const Curve& curve : curves_) {
    const Formula formula(curve.setting);
    for (const std::size_t row : curve.rows) predicted[row] = formula.seconds(rows_[row].bytes);
  }
  return predicted;
}

}  // namespace pipewright::comm
