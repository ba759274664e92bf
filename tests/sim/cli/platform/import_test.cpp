#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "support/paths.hpp"
#include "support/program.hpp"

using namespace pipewright;

namespace {

const std::string data = PIPEWRIGHT_TEST_DATA "/import/";

}  // namespace

TEST_CASE("an imported node can be used for a cluster", "[cli][platform][import]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran =
      place.run("platform import " + data + "hgx-h100.xml -o box.yaml");
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Catch::StartsWith("item ") &&
                          Catch::Contains("\nwrote   box.yaml\nnext    pipewright platform make "
                                          "--node box.yaml --nodes 16 -o cluster.xml\n"));
  REQUIRE(place.run("platform make --node box.yaml --nodes 4 -o c.xml").status == 0);
  CHECK(place.run("platform check c.xml").status == 0);
  CHECK_THAT(place.run("platform show c.xml").out,
             Catch::Contains("32 x h100-sxm, 989.5 TFLOP/s") &&
                 Catch::Contains("nvlink         32        370"));
  // Without -o, the output is the content of the file and nothing else.
  CHECK(place.run("platform import " + data + "hgx-h100.xml").out == place.read("box.yaml"));
}

TEST_CASE("an imported fabric can be checked, shown and used", "[cli][platform][import]") {
  const tests::CommandFolder place;
  const tests::ProgramResult ran =
      place.run("platform import " + data + "topology.conf --node dgx-h100 -o c.xml");
  CAPTURE(ran.err);
  CHECK(ran.status == 0);
  CHECK_THAT(ran.out, Catch::EndsWith("next    pipewright platform check c.xml\n"));
  CHECK(place.run("platform check c.xml").status == 0);
  const tests::ProgramResult bench = place.run("comm bench --cluster c.xml --ranks 64 --sizes 1G");
  CHECK(bench.status == 0);
  CHECK_THAT(place.read("c.xml"), Catch::Contains("value=\"pipewright platform import "));
  // Importing two sources, one for the nodes and one for the fabric, gives one cluster file.
  const tests::ProgramResult combined = place.run("platform import " + data + "ibnetdiscover.txt " +
                                                  data + "a100-mesh.xml -o both.xml");
  CAPTURE(combined.err);
  CHECK(combined.status == 0);
  CHECK_THAT(place.run("platform show both.xml --route node-1-gpu-0 node-4-gpu-3").out,
             Catch::Contains("16 x a100-40gb") && Catch::Contains("leaf-spine      4         48") &&
                 Catch::Contains("\nnode-4-nic-1_DOWN"));
}

TEST_CASE("import has examples in its help, and rejects invalid files with the allowed ones",
          "[cli][platform][import]") {
  const tests::CommandFolder place;
  CHECK_THAT(place.run("platform --help").out, Catch::Contains("  import  "));
  CHECK_THAT(place.run("platform import --help").out,
             Catch::Contains("ibnetdiscover > fabric.txt") && Catch::Contains("--host-gpus"));
  place.write("empty.txt", "\n");
  place.write("notes.txt", "what is this\n");
  place.write("made.xml", "<?xml version='1.0'?><platform version=\"4.1\"/>\n");
  const std::string before = place.files();
  const auto complaint = [&](const std::string& words) {
    const tests::ProgramResult ran = place.run("platform import " + words);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(place.files() == before);
    return ran.err;
  };
  CHECK_THAT(complaint(""), Catch::Contains("platform import needs a file"));
  CHECK_THAT(complaint("none.txt"), Catch::Contains("none.txt: no such file"));
  CHECK_THAT(complaint("."), Catch::Contains(".: is a directory"));
  CHECK_THAT(complaint("empty.txt"), Catch::Contains("empty.txt: is empty; allowed: NCCL's"));
  CHECK_THAT(complaint("notes.txt"), Catch::Contains("notes.txt:1: is not recognized"));
  CHECK_THAT(complaint("made.xml"), Catch::Contains("is already a platform file"));
  const std::string node = data + "hgx-h100.xml ";
  const std::string fabric = data + "ibnetdiscover.txt ";
  CHECK_THAT(complaint(node + data + "topo-m.txt"), Catch::Contains("both describe a node"));
  CHECK_THAT(complaint(fabric + data + "topology.conf"), Catch::Contains("both describe a fabric"));
  CHECK_THAT(complaint(fabric + node + "--node dgx-h100"),
             Catch::Contains("--node and") && Catch::Contains("both describe the node"));
  CHECK_THAT(complaint(fabric), Catch::Contains("platform import needs --node"));
  CHECK_THAT(complaint(node + "-o box.xml"), Catch::Contains("must end in .yaml"));
  CHECK_THAT(complaint(fabric + "--node dgx-a100 -o box.yaml"),
             Catch::Contains("must end in .xml"));
  CHECK_THAT(complaint(node + "--only a"), Catch::Contains("--only has no effect here"));
  CHECK_THAT(complaint(fabric + "--node dgx-a100 --oversubscription 2"),
             Catch::Contains("--oversubscription has no effect here; it is for Slurm's files"));
  CHECK_THAT(complaint(data + "topology.conf --node dgx-h100 --oversubscription 0"),
             Catch::Contains("must be from 0.01 to 100"));
  CHECK_THAT(complaint(fabric + "--node dgx-a100"),
             Catch::Contains("host 'node-1' (and 3 more) has 2 NIC ports here"));
  place.write("huge.conf", "SwitchName=s Nodes=n[1-400000]\n");
  CHECK_THAT(place.run("platform import huge.conf --node dgx-h100").err,
             Catch::Contains("3200000 GPUs exceed the limit for simulation"));
}
