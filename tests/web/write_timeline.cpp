// Writes pages for tests of timelines into a folder: lanes.html of a run with transfers,
// collectives and steps and of a run with hostile names, many.html of a run with many passes,
// folded.html of a run with many devices. expected.json holds their expected content.

#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/report/why/critical_path.hpp"
#include "analysis/report/why/time_split.hpp"
#include "analysis/web/page.hpp"
#include "tests/analysis/report/picture/fused_trace.hpp"
#include "tests/analysis/report/picture/one_f_one_b_trace.hpp"
#include "tests/analysis/web/lane_trace.hpp"

using namespace pipewright;
using nlohmann::json;

namespace {

json transfers_json(const trace::Trace& run) {
  json rows = json::array();
  for (const trace::TransferRow& row : run.transfers)
    rows.push_back(
        {{"source", row.source},
         {"destination", row.destination},
         {"stage", row.stage},
         {"microbatch", row.microbatch},
         {"kind", row.kind == trace::TransferKind::activation ? "activation" : "gradient"},
         {"bytes", row.bytes},
         {"posted", row.posted},
         {"start", row.start},
         {"end", row.end}});
  return rows;
}

json idle_json(const trace::Trace& run) {
  constexpr std::array<const char*, analysis::idle_causes> causes{
      "input",      "transfer", "rendezvous", "blocked_send", "weights", "gradients",
      "embeddings", "norm",     "peers",      "finished",     "other"};
  json rows = json::array();
  for (const analysis::Idle& row : analysis::idle_times(run))
    rows.push_back({{"device", row.device},
                    {"cause", causes.at(static_cast<std::size_t>(row.cause))},
                    {"start", row.start},
                    {"end", row.end},
                    {"stage", row.stage},
                    {"microbatch", row.microbatch}});
  return rows;
}

json critical_json(const trace::Trace& run) {
  json rows = json::array();
  for (const analysis::CriticalPiece& piece : analysis::critical_path(run)) {
    json row{{"part", static_cast<int>(piece.part)}, {"device", piece.device}, {"end", piece.end}};
    if (piece.pass != analysis::no_pass) {
      const trace::PassRow& pass = run.passes[piece.pass];
      row["kind"] = std::string(1, "FIWBRST"[static_cast<int>(pass.kind)]);
      row["stage"] = pass.stage;
      row["microbatch"] = pass.microbatch;
    }
    rows.push_back(row);
  }
  return rows;
}

json passes_json(const trace::Trace& run) {
  json rows = json::array();
  for (const trace::PassRow& pass : run.passes)
    rows.push_back({{"device", pass.device},
                    {"kind", std::string(1, "FIWBRST"[static_cast<int>(pass.kind)])},
                    {"stage", pass.stage},
                    {"microbatch", pass.microbatch},
                    {"start", pass.start},
                    {"end", pass.end}});
  return rows;
}

template <class Row>
json rows_json(const std::vector<Row>& rows, json (*one)(const Row&)) {
  json list = json::array();
  for (const Row& row : rows) list.push_back(one(row));
  return list;
}

json expectations(const trace::Trace& run) {
  const auto step = [](const trace::StepRow& row) -> json {
    return {{"device", row.device},   {"start", row.start},
            {"reduced", row.reduced}, {"synchronized", row.synchronized},
            {"updated", row.updated}, {"end", row.end}};
  };
  const auto collective = [](const trace::CollectiveRow& row) -> json {
    return {{"device", row.device}, {"stage", row.stage}, {"bytes", row.bytes},
            {"posted", row.posted}, {"start", row.start}, {"end", row.end}};
  };
  return {{"passes", passes_json(run)},
          {"transfers", transfers_json(run)},
          {"idle", idle_json(run)},
          {"critical", critical_json(run)},
          {"steps", rows_json<trace::StepRow>(run.steps, step)},
          {"collectives", rows_json<trace::CollectiveRow>(run.collectives, collective)}};
}

void make_hostile(trace::Trace& run) {
  const std::string attack = "</script><img src=x onerror=\"window.attacked = 1\">";
  run.run.schedule = attack;
  run.run.network = attack;
  run.run.scenario = attack;
  for (trace::DeviceRow& device : run.devices) device.host = attack;
  for (trace::LinkRow& link : run.links) link.name = attack;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: pipewright_web_timeline FOLDER\n";
    return 2;
  }
  try {
    const std::filesystem::path folder(argv[1]);
    std::filesystem::create_directories(folder);
    std::vector<trace::Trace> runs{
        analysis::test::lane_trace(), analysis::test::lane_trace(),
        analysis::test::one_f_one_b_trace({.split_backward = true, .blocked_s = 0.4e-3}),
        analysis::test::fused_trace()};
    make_hostile(runs[1]);
    // Removes a pass, so that the trace has a transfer without its pass.
    std::erase_if(runs[1].passes, [](const trace::PassRow& pass) {
      return pass.device == 3 && pass.microbatch == 7 && pass.kind == trace::PassKind::backward;
    });
    analysis::write_page(runs, folder / "lanes.html");
    const trace::Trace many =
        analysis::test::one_f_one_b_trace({.devices = 64, .microbatches = 800});
    analysis::write_page({&many, 1}, folder / "many.html");
    const trace::Trace folded = analysis::test::lane_trace(100, 64);
    analysis::write_page({&folded, 1}, folder / "folded.html");
    json all = json::array();
    for (const trace::Trace& run : runs) all.push_back(expectations(run));
    std::ofstream(folder / "expected.json") << all.dump(1) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
