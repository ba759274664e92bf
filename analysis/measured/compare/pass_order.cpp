#include "analysis/measured/compare/pass_order.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "analysis/measured/compare/metric.hpp"
#include "analysis/report/text_table.hpp"

namespace pipewright::analysis {
namespace {

std::map<PassKey, std::size_t> devices_of(const PassOrder& order) {
  std::map<PassKey, std::size_t> devices;
  for (std::size_t device = 0; device < order.size(); ++device)
    for (const PassKey& pass : order[device]) devices.emplace(pass, device);
  return devices;
}

}  // namespace

PassOrder order_of(std::vector<TimedPass> passes, std::size_t devices) {
  std::ranges::stable_sort(passes, {}, &TimedPass::start);
  PassOrder order(devices);
  for (const TimedPass& pass : passes) order.at(pass.device).push_back(pass.key);
  return order;
}

OrderComparison compare_orders(const PassOrder& first, const PassOrder& second) {
  OrderComparison comparison;
  const auto in_first = devices_of(first);
  const auto in_second = devices_of(second);
  comparison.passes = in_first.size();
  for (const auto& [pass, device] : in_first) {
    const auto match = in_second.find(pass);
    if (match == in_second.end()) ++comparison.only_first;
    if (match != in_second.end() && match->second != device) ++comparison.on_other_device;
  }
  for (const auto& [pass, device] : in_second)
    comparison.only_second += in_first.count(pass) == 0 ? 1 : 0;

  static const std::vector<PassKey> no_passes;
  for (std::size_t device = 0; device < std::max(first.size(), second.size()); ++device) {
    const auto& a = device < first.size() ? first[device] : no_passes;
    const auto& b = device < second.size() ? second[device] : no_passes;
    const auto [in_a, in_b] = std::ranges::mismatch(a, b);
    if (in_a == a.end() && in_b == b.end()) continue;
    OrderDifference difference{.device = static_cast<std::uint32_t>(device),
                               .position = static_cast<std::size_t>(in_a - a.begin())};
    if (in_a != a.end()) difference.first = *in_a;
    if (in_b != b.end()) difference.second = *in_b;
    for (std::size_t i = difference.position; i < a.size(); ++i)
      difference.displaced += i >= b.size() || a[i] != b[i] ? 1 : 0;
    comparison.differences.push_back(difference);
  }
  return comparison;
}

Metrics metrics_of(const OrderComparison& comparison) {
  std::uint64_t displaced = 0;
  for (const OrderDifference& difference : comparison.differences)
    displaced += difference.displaced;
  const auto count = [](const char* name, std::uint64_t value) {
    return Metric{name, name, MetricKind::count, static_cast<double>(value)};
  };
  return {count("displaced", displaced), count("only_in_baseline", comparison.only_first),
          count("only_in_other", comparison.only_second),
          count("on_another_device", comparison.on_other_device)};
}

std::string console_text(const OrderComparison& comparison, const std::string& first,
                         const std::string& second) {
  const std::string a = printable(first);
  const std::string b = printable(second);
  if (comparison.is_same())
    return fmt::format("{} and {}: the same {} passes in the same order on every device\n", a, b,
                       comparison.passes);
  std::string text = fmt::format("{} passes in {}", comparison.passes, a);
  if (comparison.only_first > 0)
    text += fmt::format(", {} missing in {}", comparison.only_first, b);
  if (comparison.only_second > 0) text += fmt::format(", {} only in {}", comparison.only_second, b);
  if (comparison.on_other_device > 0)
    text += fmt::format(", {} on another device", comparison.on_other_device);
  text += '\n';
  const auto pass_text = [](const std::optional<PassKey>& pass) {
    return pass ? describe(*pass) : "no further pass";
  };
  for (const OrderDifference& difference : comparison.differences)
    text += fmt::format(
        "device {}: first difference at pass {}: {} has {}, {} has {}; {} passes are displaced\n",
        difference.device, difference.position + 1, a, pass_text(difference.first), b,
        pass_text(difference.second), difference.displaced);
  return text;
}

std::string json_text(const OrderComparison& comparison, const std::string& first,
                      const std::string& second) {
  Json json;
  json["baseline"] = first;
  json["other"] = second;
  json["same"] = comparison.is_same();
  json["passes"] = comparison.passes;
  json["only_in_baseline"] = comparison.only_first;
  json["only_in_other"] = comparison.only_second;
  json["on_another_device"] = comparison.on_other_device;
  const auto pass_json = [](const std::optional<PassKey>& pass) {
    return pass ? json_object(pass_columns(), *pass) : Json();
  };
  const ReportColumns<OrderDifference> columns{
      {"device", &OrderDifference::device},
      {"same_passes", &OrderDifference::position},
      {"baseline_next",
       [=](const OrderDifference& difference) { return pass_json(difference.first); }},
      {"other_next",
       [=](const OrderDifference& difference) { return pass_json(difference.second); }},
      {"displaced", &OrderDifference::displaced}};
  json["devices"] = json_rows(columns, comparison.differences);
  return json_document(json);
}

}  // namespace pipewright::analysis
