// Writes a page of three runs, one with hostile names and one with fused passes, and its expected
// content as a .json file beside it.

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/report/picture/titles.hpp"
#include "analysis/web/page.hpp"
#include "tests/analysis/report/picture/fused_trace.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"

using namespace pipewright;

namespace {

nlohmann::json expectations(const std::vector<trace::Trace>& runs) {
  nlohmann::json all = nlohmann::json::array();
  for (const trace::Trace& run : runs) {
    nlohmann::json json{{"name", analysis::run_names(std::vector{analysis::summarize(run)})[0]},
                        {"passes", run.passes.size()}};
    for (const trace::DeviceRow& device : run.devices) json["hosts"].push_back(device.host);
    std::vector<std::uint64_t> weights(run.devices.size());
    for (const trace::MemoryRow& row : run.memory) {
      std::uint64_t& base = weights.at(row.device);
      if (row.category == trace::MemoryCategory::weights) base = row.bytes;
      const std::uint64_t total =
          row.category == trace::MemoryCategory::weights ? row.bytes : base + row.bytes;
      json["memory"].push_back({{"device", row.device}, {"time", row.time}, {"bytes", total}});
    }
    for (const trace::PassRow& pass : run.passes)
      json["rows"].push_back({{"device", pass.device},
                              {"kind", std::string(1, "FIWBRST"[static_cast<int>(pass.kind)])},
                              {"stage", pass.stage},
                              {"microbatch", pass.microbatch},
                              {"ready", pass.ready},
                              {"start", pass.start},
                              {"end", pass.end},
                              {"released", pass.released}});
    all.push_back(json);
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: pipewright_web_sample PAGE.html\n";
    return 2;
  }
  try {
    std::vector<trace::Trace> runs{
        analysis::test::one_f_one_b_trace({}),
        analysis::test::one_f_one_b_trace({.split_backward = true, .blocked_s = 0.4e-3}),
        analysis::test::fused_trace()};
    runs[1].run.schedule = "</script><img src=x onerror=\"window.attacked = 1\">";
    runs[1].run.scenario = "<b>bold</b><script>window.attacked = 1</script>\n";
    runs[1].devices[2].host = "<i>x</i>";
    std::filesystem::path page(argv[1]);
    analysis::write_page(runs, page);
    std::ofstream(page.replace_extension(".json")) << expectations(runs).dump(1) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
