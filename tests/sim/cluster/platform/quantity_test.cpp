#include "sim/cluster/platform/quantity.hpp"

#include <catch2/catch.hpp>
#include <xbt/parse_units.hpp>

using namespace pipewright::cluster;

namespace {

// Checks that a quantity is parsed to the same bits as by SimGrid's parser, and rejected if SimGrid
// rejects it.
void check(const std::string& text, Quantity quantity,
           double (*simgrid_parser)(const std::string&, int, const std::string&,
                                    const std::string&)) {
  CAPTURE(text);
  std::optional<double> expected;
  try {
    expected = simgrid_parser("p.xml", 1, text, "");
  } catch (const std::exception&) {
  }
  CHECK(parse_quantity(text, quantity) == expected);
}

}  // namespace

TEST_CASE("quantities are parsed exactly as by SimGrid", "[platform]") {
  const std::vector<std::string> prefixes{"",   "k",  "M",  "G",    "T",    "P",   "E",  "Z",
                                          "Y",  "Ki", "Mi", "Gi",   "Ti",   "Pi",  "Ei", "Zi",
                                          "Yi", "K",  "m",  "kilo", "giga", "exa", "u",  "kibi"};
  for (const char* number : {"1", "0.1", "2.5e3", "+7", "989", "0", "x", "", "-1", "1e999"})
    for (const std::string& prefix : prefixes) {
      for (const char* unit : {"Bps", "bps", "B", ""})
        check(number + prefix + unit, Quantity::bandwidth, xbt_parse_get_bandwidth);
      for (const char* unit : {"f", "flops", "flop", ""})
        check(number + prefix + unit, Quantity::speed, xbt_parse_get_speed);
      for (const char* unit : {"s", "m", "h", "d", "w", "ns", "ps", ""})
        check(number + prefix + unit, Quantity::time, xbt_parse_get_time);
    }
}
