#include "analysis/compare/order_report.hpp"

#include <fmt/format.h>

#include "analysis/compare/compare_json.hpp"
#include "analysis/text_table.hpp"

namespace pipewright::analysis {

std::string console_text(const OrderComparison& comparison, const std::string& first,
                         const std::string& second) {
  const std::string a = printable(first);
  const std::string b = printable(second);
  if (comparison.same())
    return fmt::format("{} and {}: the same {} passes in the same order on every device\n", a, b,
                       comparison.passes);
  std::string text = fmt::format("{} passes in {}", comparison.passes, a);
  if (comparison.only_first > 0)
    text += fmt::format(", {} of them not in {}", comparison.only_first, b);
  if (comparison.only_second > 0)
    text += fmt::format(", {} in {} alone", comparison.only_second, b);
  if (comparison.elsewhere > 0) text += fmt::format(", {} on another device", comparison.elsewhere);
  text += '\n';
  const auto named = [](const std::optional<PassKey>& pass) {
    return pass ? describe(*pass) : "nothing more";
  };
  for (const OrderDifference& one : comparison.differences)
    text += fmt::format(
        "device {}: differs from pass {} on: {} has {}, {} has {}; {} passes at other places\n",
        one.device, one.place + 1, a, named(one.first), b, named(one.second), one.displaced);
  return text;
}

std::string json_text(const OrderComparison& comparison, const std::string& first,
                      const std::string& second) {
  Json json;
  json["baseline"] = first;
  json["other"] = second;
  json["same"] = comparison.same();
  json["passes"] = comparison.passes;
  json["only_in_baseline"] = comparison.only_first;
  json["only_in_other"] = comparison.only_second;
  json["on_another_device"] = comparison.elsewhere;
  json["devices"] = Json::array();
  const auto pass_json = [](const std::optional<PassKey>& pass) -> Json {
    if (!pass) return nullptr;
    Json entry;
    add_pass(entry, *pass);
    return entry;
  };
  for (const OrderDifference& one : comparison.differences)
    json["devices"].push_back({{"device", one.device},
                               {"same_passes", one.place},
                               {"baseline_next", pass_json(one.first)},
                               {"other_next", pass_json(one.second)},
                               {"displaced", one.displaced}});
  return text_of(json);
}

}  // namespace pipewright::analysis
