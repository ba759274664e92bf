#include "sim/config/building_block.hpp"

#include <catch2/catch.hpp>

#include "sim/config/text/yaml.hpp"
#include "tests/sim/config/support.hpp"

namespace pipewright::config::test {
namespace {

BuildingBlock block_of(const std::string& text) {
  return read_building_block(read_yaml_text(text, "b.yaml"));
}

// Returns the error of reading a building block that is valid in lines 1 to 5 and continues with
// `more`.
std::string error_with(const std::string& more) {
  return error_of([&] {
    block_of("placement: looped\ninterval: 3\ncells:\n  F0: {step: 1}\n  B0: {step: 2}\n" + more);
  });
}

std::string error_in(const std::string& text) {
  return error_of([&] { block_of(text); });
}

}  // namespace

TEST_CASE("a building block is read leg by leg", "[config][blocks]") {
  const BuildingBlock block = block_of(R"(
placement: v
interval: 12
microbatches: 2
lengths: {W: 2}
cells:
  F0: [{at: 0, step: 2}, {at: -3, step: 2}]
  F1: [[9, 8, 7], {gap: 1}]
  I1: [{}, {}]
  I0: [{}, {}]
memory: 2.5
reorder: false
)");
  CHECK(block.placement == BuildingBlock::Placement::v);
  CHECK(block.chunks == 2);
  CHECK(block.interval == 12);
  CHECK(block.microbatches == 2);
  CHECK(block.lengths == schedules::CellLengths{1, 1, 2, 2, 1, 1, 1});
  CHECK(block.memory.value().value == 2.5);
  CHECK_FALSE(block.reorder);
  REQUIRE(block.legs.size() == 8);
  CHECK(block.legs[1].kind == schedules::PassKind::forward);
  CHECK(block.legs[1].microbatch == 1);
  CHECK(block.legs[1].at == -3);
  CHECK(block.legs[1].step == 2);
  CHECK(block.legs[2].chunk == 1);
  CHECK(block.legs[2].cells == std::vector<std::int64_t>{9, 8, 7});
  CHECK(block.legs[3].gap == 1);
  CHECK_FALSE(block.legs[3].at.has_value());
  CHECK(to_string(block.legs[3].origin) == "b.yaml:8:19");
}

TEST_CASE("a placement can list the device of every stage", "[config][blocks]") {
  const std::string rest = "\ninterval: 9\ncells: {F0: {}, B0: {}, F1: {}, B1: {}}";
  CHECK(block_of("placement: [0, 1, 1, 0]" + rest).chunks == 2);
  CHECK(error_in("placement: [0, 1, 1]" + rest) ==
        "b.yaml:1:12: placement gives 1 stages to device 0 and 2 to device 1; give every device up "
        "to the highest one the same number of stages");
  CHECK_THAT(error_in("placement: [0, 2]" + rest), Catch::Contains("0 to device 1"));
  CHECK_THAT(error_in("placement: [0, 99999]" + rest), Catch::Contains("from 0 to 16383"));
  CHECK_THAT(error_in("placement: []" + rest), Catch::Contains("an empty list"));
  CHECK_THAT(error_in("placement: w" + rest), Catch::Contains("one of looped, v"));
  CHECK(error_in("placement: v\nchunks: 3" + rest) ==
        "b.yaml:2:9: chunks is 3, and this placement has 2 stages on a device");
}

TEST_CASE("every fault of a building block has a message with its place", "[config][blocks]") {
  CHECK(error_with("").empty());
  CHECK(error_with("colour: red") ==
        "b.yaml:6:1: unknown key 'colour'; allowed: placement, chunks, interval, microbatches, "
        "lengths, cells, memory, reorder");
  CHECK_THAT(error_with("  F0: {step: 3}"), Catch::Contains("'F0' stands twice"));
  CHECK_THAT(error_with("  F00: {step: 3}"), Catch::Contains("b.yaml:6:3: 'F00' is given twice"));
  for (const std::string name : {"X0", "F", "F-1", "F0a", "f0", "F99999999999", "0"})
    CHECK_THAT(error_with("  " + name + ": {}"),
               Catch::Contains("b.yaml:6:3: '" + name + "' names no pass; allowed: F, I"));
  CHECK(error_with("  F1: {}") ==
        "b.yaml:6:7: F1 names chunk 1, which does not exist; allowed: chunks 0 to 0");
  CHECK_THAT(error_with("  R0: {stepp: 1}"), Catch::Contains("did you mean 'step'?"));
  CHECK_THAT(
      error_with("  R0: {step: 1}"),
      Catch::Contains("b.yaml:6:7: cells.R0: R cannot set at or step, as it follows its I or B"));
  CHECK_THAT(error_with("  R0: 7"), Catch::Contains("cells.R0 is 7; allowed: a list of cells"));
  CHECK_THAT(error_with("  R0: [1.5]"), Catch::Contains("cells.R0[0] is 1.5; allowed: a whole"));
  CHECK_THAT(error_with("  R0: [99999999999999999999]"), Catch::Contains("allowed: a whole"));
  CHECK_THAT(error_with("  R0: []"), Catch::Contains("an empty list"));
  CHECK_THAT(
      error_with("  R0: [[1], [2]]"),
      Catch::Contains(
          "R0 has 2 microbatches; allowed: a list with one entry for each of the 1 of a block"));
  CHECK_THAT(error_with("microbatches: 2"), Catch::Contains("F0 has 1 microbatches"));
  CHECK_THAT(error_with("chunks: 2"),
             Catch::Contains("b.yaml:4:3: cells: there is no F of chunk 1"));
  CHECK_THAT(error_with("  I0: {}"), Catch::Contains("there are both a B and an I or W"));
  CHECK_THAT(error_with("lengths: {B: 0}"), Catch::Contains("lengths.B is 0; allowed: a whole"));
  CHECK_THAT(error_with("lengths: {X: 1}"), Catch::Contains("'X' is no kind of pass"));
  CHECK_THAT(error_with("reorder: maybe"), Catch::Contains("one of false, true"));
  CHECK_THAT(error_with("memory: -1"), Catch::Contains("b.yaml:6:9: memory"));
  CHECK_THAT(error_in("[1, 2]"), Catch::Contains("the building block is a list"));
  CHECK_THAT(error_in("{placement: v, interval: 6}"), Catch::Contains("cells is missing"));
  CHECK_THAT(error_in("{placement: looped, interval: 0, cells: {F0: {}, B0: {}}}"),
             Catch::Contains("interval is 0; allowed: a whole number from 1 to 4096"));
  CHECK_THAT(error_in("{placement: looped, interval: 3, cells: {F0: {at: 1, gap: 2}, B0: {}}}"),
             Catch::Contains("cells.F0 has both at and gap"));
  CHECK_THAT(error_in("{placement: looped, interval: 3, cells: {F0: {}}}"),
             Catch::Contains("there is neither B nor I of chunk 0"));
}

TEST_CASE("a building block has the name of its file", "[config][blocks]") {
  const Folder folder;
  const std::string path =
      folder.write("deep/mine.yaml", "placement: looped\ninterval: 3\ncells: {F0: {}, B0: {}}");
  CHECK(read_building_block_file(path).name == "mine.yaml");
  CHECK_THAT(error_of([&] { read_building_block_file(path + ".none"); }),
             Catch::Contains("mine.yaml.none: cannot be read") &&
                 Catch::EndsWith("give a building block file in YAML or JSON"));
}

TEST_CASE("a file that is no building block is refused with the required keys",
          "[config][blocks]") {
  const Folder folder;
  const auto file_error = [&](const std::string& text) {
    const std::string path = folder.write("b.yaml", text);
    return error_of([&] { read_building_block_file(path); }).substr(path.size());
  };
  const std::string advice =
      "allowed: a building block, a map with at least placement, interval and cells";
  CHECK(file_error("") == ": the file is empty; " + advice);
  CHECK(file_error("devices: 8\nforward_times: 1\n") ==
        ": the file is no building block; " + advice);
  CHECK(file_error("0F0,0B0\r\n") ==
        ":1:1: the building block is 0F0,0B0; allowed: a map with at least placement, "
        "interval and cells");
  CHECK_THAT(file_error("\x89HDF\r\n"), Catch::EndsWith("a building block in YAML or JSON"));
  CHECK_THAT(file_error("interval: [1\n"), !Catch::Contains("scenario"));
}

}  // namespace pipewright::config::test
