#include <vector>

#include "analysis/web/run_tables.hpp"

namespace pipewright::analysis {
namespace {

std::vector<TableSchema> make_schema() {
  using enum NumberType;
  const auto before = [](const char* name) { return Base::before({name}); };
  const auto of_kind = [](const char* name) { return Base::before({name}, "kind"); };
  const auto at = [](const char* key, const char* table, const char* column) {
    return Base::at(key, table, column);
  };
  return {
      {"passes",
       {{"length", f64, {}},
        {"start", f64, Base::before({"start", "length"})},
        {"end", f64, Base::row({"start", "length"}), false},
        {"released", f64, Base::row({"end"})},
        {"ready", f64, Base::row({"start"})},
        {"kind", u8, before("kind")},
        {"stage", u32, of_kind("stage")},
        {"chunk", u32, of_kind("chunk")},
        {"microbatch", u32, of_kind("microbatch")},
        {"iteration", u32, of_kind("iteration")}}},
      // Transfers, grouped by receiving device. Those without a receiving pass come first; the
      // others are in the order of their receiving passes.
      {"transfers",
       {{"kind", u8, before("kind")},
        {"taker", i32, before("taker")},
        {"source", u32, of_kind("source")},
        {"maker", i32, of_kind("maker")},
        {"bytes", f64, of_kind("bytes")},
        {"stage", u32, at("taker", "passes", "stage")},
        {"microbatch", u32, at("taker", "passes", "microbatch")},
        {"end", f64, at("taker", "passes", "ready")},
        {"posted", f64, at("maker", "passes", "end")},
        {"start", f64, Base::row({"posted"})}}},
      {"collectives",
       {{"kind", u8, {}},
        {"stage", u32, before("stage")},
        {"iteration", u32, before("iteration")},
        {"bytes", f64, before("bytes")},
        {"posted", f64, before("posted")},
        {"start", f64, Base::row({"posted"})},
        {"end", f64, Base::row({"start"})}}},
      {"steps",
       {{"iteration", u32, before("iteration")},
        {"start", f64, before("start")},
        {"reduced", f64, Base::row({"start"})},
        {"synchronized", f64, Base::row({"reduced"})},
        {"updated", f64, Base::row({"synchronized"})},
        {"end", f64, Base::row({"updated"})},
        {"gathering", f64, {}}}},
      {"stages",
       {{"stage", u32, before("stage")},
        {"device", u32, before("device")},
        {"waits_f", f64, before("waits_f")},
        {"waits_i", f64, before("waits_i")},
        {"waits_w", f64, before("waits_w")},
        {"waits_b", f64, before("waits_b")},
        {"waits_r", f64, before("waits_r")},
        {"waits_s", f64, before("waits_s")},
        {"waits_t", f64, before("waits_t")}}},
      {"paths",
       {{"traffic", u8, before("traffic")},
        {"source", u32, before("source")},
        {"destination", u32, before("destination")},
        {"stage", u32, before("stage")},
        {"link", i32, before("link")},
        {"alone", f64, before("alone")}}},
      // Idle times. Each usually ends at an event: the start of the next pass, a moment of the
      // transfer of its input, or the end of the previous pass's send. These are the candidates for
      // its base.
      {"idle",
       {{"cause", u8, {}},
        {"next", i32, before("next")},
        {"previous", i32, Base::row({"next"})},
        {"input", i32, before("input")},
        {"stage", u32, at("next", "passes", "stage")},
        {"microbatch", u32, at("next", "passes", "microbatch")},
        {"end", f64,
         Base::nearest({at("next", "passes", "start"), at("input", "transfers", "posted"),
                        at("input", "transfers", "start"), at("input", "transfers", "end"),
                        at("previous", "passes", "released")})},
        {"start", f64, Base::nearest({at("previous", "passes", "end"), before("end")})}}},
      {"critical_path",
       {{"part", u8, {}},
        {"device", u32, before("device")},
        {"pass", i32, Base::before({"pass"}, "part")},
        {"stage", u32, before("stage")},
        {"microbatch", u32, before("microbatch")},
        {"end", f64, before("end")},
        {"link", i32, {}}}},
      // Memory: each row has the bytes that a device holds in a category from this time on.
      {"memory",
       {{"time", f64, before("time")},
        {"category", u8, {}},
        {"bytes", f64, Base::before({"bytes"}, "category")}}},
      {"link_use",
       {{"start", f64, before("start")},
        {"end", f64, Base::row({"start"})},
        {"traffic", u8, {}},
        {"bytes", f64, {}},
        {"flows", f64, {}},
        {"waited", f64, {}}}},
  };
}

}  // namespace

std::span<const TableSchema> page_tables() {
  static const std::vector<TableSchema> tables = make_schema();
  return tables;
}

}  // namespace pipewright::analysis
