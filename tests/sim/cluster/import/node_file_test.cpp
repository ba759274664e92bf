#include "sim/cluster/import/node_file.hpp"

#include <array>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/sim/cluster/import/import_data.hpp"

using namespace pipewright;
using cluster::ImportedNode;
using cluster::NodeKind;
using cluster::PairLinks;
using tests::sample;
using tests::typed;

namespace {

ImportedNode import_nccl(cluster::SourceText source, const cluster::NodeOptions& options = {}) {
  return cluster::import_node(cluster::read_nccl_topology(std::move(source)), options, "box");
}
ImportedNode import_smi(cluster::SourceText source, const cluster::NodeOptions& options = {}) {
  return cluster::import_node(cluster::read_smi_matrix(std::move(source)), options, "box");
}

// Returns the XML of a node whose A100 GPUs and NICs are behind one PCIe switch. `nics` has one NIC
// per line.
std::string a100(int gpus, const std::string& nics) {
  std::string text =
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"s\" class=\"0x060400\">\n";
  for (int i = 0; i < gpus; ++i)
    text += fmt::format(
        "<pci busid=\"g{}\" class=\"0x030200\"><gpu dev=\"{}\" sm=\"80\"><nvlink target=\"x\" "
        "count=\"12\" tclass=\"0x068000\"/></gpu></pci>\n",
        i, i);
  return text + nics + "</pci></cpu></system>\n";
}
std::string nic(const std::string& card, int port, int speed) {
  return fmt::format(
      "<pci busid=\"{0}\" class=\"0x020700\"><nic><net name=\"{0}_{1}\" port=\"{1}\" "
      "speed=\"{2}\"/></nic></pci>\n",
      card, port, speed);
}

// Links between the dies of four MI250X, from Frontier's user guide: four in a package.
const std::vector<PairLinks> frontier_links{{0, 1, 4}, {0, 2, 1}, {0, 6, 2}, {1, 3, 1},
                                            {1, 5, 1}, {2, 3, 4}, {2, 4, 2}, {3, 7, 1},
                                            {4, 5, 4}, {4, 6, 1}, {5, 7, 1}, {6, 7, 4}};

// Returns RCCL's XML of a node of 8 GPUs with these links and a NIC of 200 Gb/s.
std::string rccl(const std::string& gcn, const std::string& device, int compute_units,
                 const std::vector<PairLinks>& links) {
  std::string text =
      "<system version=\"2\"><cpu numaid=\"0\"><pci busid=\"s\" class=\"0x060400\">\n";
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    text += fmt::format(
        "<pci busid=\"g{0}\" class=\"0x030200\" device=\"{1}\">"
        "<gpu dev=\"{0}\" sm=\"{2}\" gcn=\"{3}\">",
        gpu, device, compute_units, gcn);
    for (const auto& [a, b, count] : links)
      if (a == gpu || b == gpu)
        text += fmt::format("<xgmi target=\"g{}\" count=\"{}\"/>", a == gpu ? b : a, count);
    text += "</gpu></pci>\n";
  }
  return text + nic("n", 1, 200000) + "</pci></cpu></system>\n";
}

std::string pairs_text(const NodeKind& kind) {
  std::string text;
  for (const auto& [a, b, links] : kind.pairs) text += fmt::format("{}-{} x{}, ", a, b, links);
  return text;
}

std::string fault(const std::function<void()>& reading) { return tests::fault_of(reading); }

}  // namespace

TEST_CASE("an NCCL dump of a DGX H100 matches dgx-h100 of the library", "[import]") {
  const ImportedNode node = import_nccl(sample("hgx-h100.xml"));
  const NodeKind library_kind = cluster::find_node_kind("dgx-h100");
  CHECK(node.kind.gpu == library_kind.gpu);
  CHECK(node.kind.gpus == 8);
  CHECK(node.kind.wiring == NodeKind::Wiring::nvswitch);
  // A GPU has 5 + 4 + 4 + 5 = 18 NVLinks to the switches, with 370 / 18 GB/s each.
  CHECK(node.kind.link_bandwidth == Approx(370e9));
  CHECK(node.kind.link_latency == library_kind.link_latency);
  CHECK(node.kind.nics == 8);
  CHECK(node.kind.nic_bandwidth == Approx(47e9));  // 0.94 of 400 Gb/s
  CHECK(node.kind.nic_latency == library_kind.nic_latency);
  CHECK(node.kind.launch == library_kind.launch);
  CHECK(node.kind.sharp == library_kind.sharp);
  CHECK(tests::finding(node.findings, "left out")->value == "mlx5_8, mlx5_9");
  CHECK(tests::finding(node.findings, "NICs of GPUs")->value == "in order");
  CHECK_THAT(tests::finding(node.findings, "gpu")->origin,
             Catch::Equals("hgx-h100.xml:5, device 0x2330"));
}

TEST_CASE("four A100 with four NVLinks per pair are a mesh", "[import]") {
  const ImportedNode node = import_nccl(sample("a100-mesh.xml"));
  CHECK(node.kind.gpu == "a100-40gb");
  CHECK(node.kind.wiring == NodeKind::Wiring::mesh);
  CHECK(node.kind.link_bandwidth == Approx(4 * 230e9 / 12).epsilon(1e-5));
  CHECK(node.kind.nics == 2);  // one for two GPUs
  CHECK(tests::finding(node.findings, "NICs of GPUs")->origin ==
        "0: mlx5_0, 1: mlx5_0, 2: mlx5_1, 3: mlx5_1");
  CHECK(node.kind.nic_bandwidth == Approx(24e9));
}

TEST_CASE("several ports of a GPU become one NIC with their sum", "[import]") {
  std::string four;
  for (int i = 0; i < 4; ++i) four += nic(fmt::format("n{}", i), 1, 100000);
  const ImportedNode node = import_nccl(typed(a100(2, four)));
  CHECK(node.kind.nics == 2);
  CHECK(node.kind.nic_bandwidth == Approx(2 * 12e9));  // 2 x 100 Gb/s x 0.96
  // Each of three GPUs has a network card with two ports.
  std::string six;
  for (int i = 0; i < 6; ++i) six += nic(fmt::format("n{}", i / 2), 1 + i % 2, 200000);
  CHECK(import_nccl(typed(a100(3, six))).kind.nic_bandwidth == Approx(2 * 24e9));
  CHECK_THAT(
      fault([&] { import_nccl(typed(a100(4, nic("a", 1, 1) + nic("b", 1, 1) + nic("c", 1, 1)))); }),
      Catch::Contains("3 NICs cannot be shared evenly among 4 GPUs"));
  CHECK(import_nccl(typed(a100(4, nic("a", 1, 1))), {{"nics", "4"}, {"nic_bandwidth", "20 GB/s"}})
            .kind.nic_bandwidth == 20e9);
}

TEST_CASE("a report shows NICs that are nearest to GPUs out of order", "[import]") {
  const ImportedNode node =
      import_smi(typed("\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0 X NV18 SYS PIX\nGPU1 NV18 X PIX SYS\n"),
                 {{"gpu", "h200"}});
  CHECK(tests::finding(node.findings, "NICs of GPUs")->value == "in order, not by PCIe switch");
  CHECK(tests::finding(node.findings, "NICs of GPUs")->origin == "0: NIC1, 1: NIC0");
}

TEST_CASE("slow NICs are left out, and options override the file", "[import]") {
  const std::string text = a100(2, nic("a", 1, 200000) + nic("b", 1, 200000) + nic("c", 1, 25000));
  const ImportedNode node =
      import_nccl(typed(text), {{"gpu", "a100-80gb"}, {"link_bandwidth", "9 GB/s"}});
  CHECK(node.kind.nics == 2);
  CHECK(tests::finding(node.findings, "left out")->value == "c_1");
  CHECK(node.kind.link_bandwidth == 9e9);
  CHECK(tests::finding(node.findings, "link_bandwidth")->origin == "--nvlink");
}

TEST_CASE("a GPU with an unknown device is reported as the first type of its compute capability",
          "[import]") {
  std::string text = a100(2, nic("a", 1, 200000));
  const std::string device = "device=\"0x1234\" ";
  for (std::size_t at = 0; (at = text.find("class=\"0x030200\"", at)) != std::string::npos;
       at += device.size() + 1)
    text.insert(at, device);
  const ImportedNode node = import_nccl(typed(text));
  CHECK(node.kind.gpu == "a100-80gb");
  CHECK(tests::finding(node.findings, "gpu")->origin ==
        "a.txt:2, sm 80 (device 0x1234 is unknown); the first of a100-80gb, a100-40gb, a800; "
        "override it with --gpu");
}

TEST_CASE("an H800 is told from an H100 by its device, and has its own NVLinks", "[import]") {
  const auto node_of = [](const char* device) {
    std::string text = "<system version=\"1\"><cpu host_hash=\"0x1\" numaid=\"0\">\n";
    for (const char* const bus : {"g0", "g1"})
      text += fmt::format(
          "<pci busid=\"{}\" class=\"0x030200\" device=\"{}\"><gpu dev=\"{}\" sm=\"90\">"
          "<nvlink target=\"fffffff:ff:ff.0\" count=\"8\" tclass=\"0x068000\"/></gpu></pci>\n",
          bus, device, bus[1]);
    return import_nccl(
        typed(text + "<nic><net name=\"n\" speed=\"400000\"/></nic></cpu></system>"));
  };
  CHECK(node_of("0x2324").kind.gpu == "h800");
  CHECK(node_of("0x2324").kind.link_bandwidth == Approx(160e9));
  CHECK(node_of("0x2330").kind.gpu == "h100-sxm");
}

TEST_CASE("one file can contain several hosts joined by NVLink, with the same buses", "[import]") {
  std::string text = "<system version=\"1\">\n";
  for (const char* host : {"0x1", "0x2"})
    text += fmt::format(
        "<cpu host_hash=\"{}\" numaid=\"0\"><pci busid=\"g\" class=\"0x030200\"><gpu dev=\"0\" "
        "sm=\"100\"><nvlink target=\"fffffff:ff:ff.0\" count=\"18\" "
        "tclass=\"0x068000\"/></gpu></pci>"
        "<nic><net name=\"n\" speed=\"400000\"/></nic></cpu>\n",
        host);
  const ImportedNode node = import_nccl(typed(text + "</system>\n"), {{"gpu", "gb200"}});
  CHECK(node.kind.gpus == 2);
  CHECK(node.kind.link_bandwidth == Approx(677e9));
  // The file describes one tray, of which NVLink joins 36 into one domain of 72 GPUs.
  const NodeKind domain =
      import_nccl(typed(text + "</system>\n"), {{"gpu", "gb200"}, {"gpus", "72"}}).kind;
  CHECK(domain.gpus == 72);
  CHECK(domain.nics == 72);
  CHECK(node.kind.nics == 2);
}

TEST_CASE("the matrix of nvidia-smi yields NVLinks and NICs on the GPUs' switches", "[import]") {
  const ImportedNode node = import_smi(sample("topo-m.txt"), {{"gpu", "h100-sxm"}});
  CHECK(node.kind.wiring == NodeKind::Wiring::nvswitch);
  CHECK(node.kind.link_bandwidth == Approx(370e9));
  CHECK(node.kind.nics == 8);
  CHECK(tests::finding(node.findings, "left out")->value == "NIC4, NIC5");
  CHECK(tests::finding(node.findings, "nic_bandwidth")->origin ==
        "default of h100-sxm: no rate in the file");
  CHECK_THAT(
      fault([] { import_smi(sample("topo-m.txt")); }),
      Catch::Contains("topo-m.txt:2: the file does not name the GPU type; give it with --gpu"));
}

TEST_CASE("the wiring follows from the NVLinks of a matrix: mesh, DGX-1 or PCIe", "[import]") {
  const std::string four =
      "\tGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tCPU Affinity\n"
      "GPU0\t X \tNV4\tNV4\tNV4\tSYS\t0\nGPU1\tNV4\t X \tNV4\tNV4\tSYS\t0\n"
      "GPU2\tNV4\tNV4\t X \tNV4\tSYS\t0\nGPU3\tNV4\tNV4\tNV4\t X \tPHB\t0\n";
  const ImportedNode mesh = import_smi(typed(four), {{"gpu", "a100-40gb"}});
  CHECK(mesh.kind.wiring == NodeKind::Wiring::mesh);
  CHECK(mesh.kind.link_bandwidth == Approx(4 * 230e9 / 12).epsilon(1e-5));
  CHECK(mesh.kind.nics == 1);
  std::string cube = "\tGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\n";
  const char* rows[8] = {"X NV1 NV1 NV2 NV2 SYS SYS SYS", "NV1 X NV2 NV1 SYS NV2 SYS SYS",
                         "NV1 NV2 X NV2 SYS SYS NV1 SYS", "NV2 NV1 NV2 X SYS SYS SYS NV1",
                         "NV2 SYS SYS SYS X NV1 NV1 NV2", "SYS NV2 SYS SYS NV1 X NV2 NV1",
                         "SYS SYS NV1 SYS NV1 NV2 X NV2", "SYS SYS SYS NV1 NV2 NV1 NV2 X"};
  for (int i = 0; i < 8; ++i) cube += fmt::format("GPU{} {} NODE\n", i, rows[i]);
  const ImportedNode dgx1 = import_smi(typed(cube), {{"gpu", "v100-32gb"}});
  CHECK(dgx1.kind.wiring == NodeKind::Wiring::cube_mesh);
  CHECK(dgx1.kind.link_bandwidth == Approx(24e9));
  const ImportedNode pcie =
      import_smi(typed("\tGPU0\tGPU1\tNIC0\nGPU0 X SYS SYS\nGPU1 SYS X SYS\n"), {{"gpu", "l40s"}});
  CHECK(pcie.kind.wiring == NodeKind::Wiring::pcie);
  CHECK(pcie.kind.link_bandwidth == Approx(25.2e9));
}

TEST_CASE("NVLink bridges join GPUs in pairs, and PCIe joins the pairs", "[import]") {
  const std::string bridges =
      "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\nGPU0 X NV12 SYS SYS SYS\nGPU1 NV12 X SYS SYS SYS\n"
      "GPU2 SYS SYS X NV12 SYS\nGPU3 SYS SYS NV12 X SYS\n";
  const NodeKind kind = import_smi(typed(bridges), {{"gpu", "a100-80gb"}}).kind;
  CHECK(kind.wiring == NodeKind::Wiring::pairs);
  CHECK(pairs_text(kind) == "0-1 x1, 2-3 x1, ");
  CHECK(kind.link_bandwidth == Approx(230e9));         // 12 links of 230 / 12
  CHECK(kind.pcie_bandwidth == Approx(0.8 * 31.5e9));  // of PCIe 4.0 x16, the file names no rate
  CHECK_FALSE(kind.relay);
  CHECK(import_smi(typed(bridges), {{"gpu", "a100-80gb"}, {"link_bandwidth", "200 GB/s"}})
            .kind.link_bandwidth == 200e9);
  // An H100 PCIe has no NVLink but bridges of NVLink4: 12 x 370 / 18.
  CHECK(import_smi(typed(bridges), {{"gpu", "h100-pcie"}}).kind.link_bandwidth ==
        Approx(12 * 370e9 / 18));
  CHECK(import_smi(typed(bridges), {{"gpu", "a100-80gb"}, {"wiring", "pcie"}}).kind.wiring ==
        NodeKind::Wiring::pcie);
  CHECK_THAT(fault([&] {
               import_smi(typed(bridges), {{"gpu", "l40s"}});
             }),
             Catch::StartsWith("2: the bandwidth of a link of l40s is unknown; give it with"));
}

TEST_CASE("a dump of four MI250X is a twin_mesh, in any order of the dies", "[import]") {
  const ImportedNode node = import_nccl(typed(rccl("gfx90a", "0x7408", 110, frontier_links)));
  CHECK(node.kind.gpu == "mi250x");
  CHECK(node.kind.wiring == NodeKind::Wiring::twin_mesh);
  CHECK(node.kind.places.empty());
  CHECK(node.kind.link_class == "xgmi");
  CHECK(node.kind.link_bandwidth == Approx(37.5e9));
  CHECK(node.kind.nics == 1);
  // Old versions of RCCL call the architecture 910.
  CHECK(import_nccl(typed(rccl("910", "", 104, frontier_links))).kind.gpu == "mi250x");
  // The packages with the dies 2 and 3, 4 and 5, 6 and 7 are numbered in another order.
  std::vector<PairLinks> moved = frontier_links;
  constexpr std::array<std::uint32_t, 8> number{0, 1, 6, 7, 2, 3, 4, 5};  // by place
  for (PairLinks& pair : moved) pair = {number.at(pair.a), number.at(pair.b), pair.links};
  const NodeKind other = import_nccl(typed(rccl("gfx90a", "0x740c", 104, moved))).kind;
  CHECK(other.wiring == NodeKind::Wiring::twin_mesh);
  CHECK(other.places == std::vector<std::uint32_t>{0, 1, 4, 5, 6, 7, 2, 3});
  // A virtual machine shows one link for each pair that has any.
  std::vector<PairLinks> single = frontier_links;
  for (PairLinks& pair : single) pair.links = 1;
  const ImportedNode virtual_node = import_nccl(typed(rccl("910", "", 104, single)));
  CHECK(virtual_node.kind.wiring == NodeKind::Wiring::twin_mesh);
  CHECK(tests::finding(virtual_node.findings, "links of pairs") != nullptr);
}

TEST_CASE("other xGMI links join listed pairs, and GPUs between two others relay", "[import]") {
  // Two hives of four GPUs, each a ring of single links.
  const std::vector<PairLinks> hives{{0, 1}, {1, 3}, {2, 3}, {0, 2},
                                     {4, 5}, {5, 7}, {6, 7}, {4, 6}};
  const ImportedNode node = import_nccl(typed(rccl("906", "", 64, hives)),
                                        {{"gpu", "mi300x"}, {"link_bandwidth", "37 GB/s"}});
  CHECK(node.kind.wiring == NodeKind::Wiring::pairs);
  CHECK(pairs_text(node.kind) ==
        "0-1 x1, 0-2 x1, 1-3 x1, 2-3 x1, 4-5 x1, 4-6 x1, 5-7 x1, 6-7 x1, ");
  CHECK(node.kind.relay);
  CHECK(node.kind.link_class == "xgmi");
  CHECK(tests::finding(node.findings, "GPU of the file")->value == "MI50 or MI60");
  CHECK_THAT(tests::finding(node.findings, "links missing")->value,
             Catch::StartsWith("GPU 0 has 2, GPU 1 has 2"));
  // A link that only one of its GPUs lists is down.
  std::string text = rccl("906", "", 64, hives);
  const std::string link = "<xgmi target=\"g1\" count=\"1\"/>";
  text.erase(text.find(link), link.size());
  CHECK_THAT(fault([&] {
               import_nccl(typed(text), {{"gpu", "mi300x"}});
             }),
             Catch::Contains("1 links lead from GPU g1 to GPU g0, but 0 lead back"));
}

TEST_CASE("gcn, the device and the compute units name the type of an AMD GPU", "[import]") {
  std::vector<PairLinks> mesh;
  for (std::uint32_t a = 0; a < 8; ++a)
    for (std::uint32_t b = a + 1; b < 8; ++b) mesh.push_back({a, b});
  const auto type = [&](const char* gcn, const char* device, int units) {
    return import_nccl(typed(rccl(gcn, device, units, mesh))).kind.gpu;
  };
  CHECK(type("gfx942", "0x74a1", 304) == "mi300x");
  CHECK(type("gfx942:sramecc+:xnack-", "0x74b5", 304) == "mi300x");
  CHECK(type("gfx942", "0x74a5", 304) == "mi325x");
  CHECK(type("gfx950", "0x75a3", 256) == "mi355x");
  CHECK(type("gfx950", "0x75a0", 256) == "mi350x");
  const auto complaint = [&](const char* gcn, const char* device, int units) {
    return fault([&] { type(gcn, device, units); });
  };
  CHECK_THAT(
      complaint("gfx942", "", 304),
      Catch::Contains("the GPUs are MI300X or MI325X, which have the same architecture (gcn "
                      "gfx942, 304 compute units); choose with --gpu mi300x or --gpu mi325x"));
  CHECK_THAT(complaint("gfx950", "", 256),
             Catch::Contains("choose with --gpu mi350x or --gpu mi355x"));
  CHECK_THAT(complaint("942", "", 80),
             Catch::Contains("the GPUs are MI308X (gcn gfx942, 80 compute "
                             "units), of which the library has no file"));
  CHECK_THAT(complaint("940", "", 228), Catch::Contains("the GPUs are MI300A"));
  CHECK_THAT(complaint("908", "0x738c", 120), Catch::Contains("the GPUs are MI100"));
  CHECK_THAT(complaint("910", "0x740f", 104), Catch::Contains("the GPUs are MI210"));
  CHECK_THAT(complaint("gfx1100", "", 96), Catch::Contains("the GPU type is unknown (gcn gfx1100"));
  const auto with_option = [&](const char* gpu) {
    return import_nccl(typed(rccl("gfx942", "", 304, mesh)), {{"gpu", gpu}});
  };
  CHECK(with_option("mi325x").kind.gpu == "mi325x");
  CHECK(tests::finding(with_option("mi325x").findings, "GPU of the file") == nullptr);
  CHECK(tests::finding(with_option("mi355x").findings, "GPU of the file")->value ==
        "MI300X or MI325X");
}

TEST_CASE("the option --nic stands before an unknown or impossible speed of the file", "[import]") {
  const auto a100_with = [](const std::string& nics, const cluster::NodeOptions& options = {}) {
    return import_nccl(typed(a100(2, nics)), options);
  };
  const std::string unknown = nic("a", 1, -1) + nic("b", 1, 0);
  CHECK(a100_with(unknown).kind.nic_bandwidth == 24e9);  // the default of an A100
  CHECK(a100_with(unknown, {{"nic_bandwidth", "47 GB/s"}}).kind.nic_bandwidth == 47e9);
  CHECK(a100_with(unknown, {{"nic_bandwidth", "47 GB/s"}}).kind.nics == 2);
  // Management NICs of 10 Gb/s do not stand for NICs of an unknown rate.
  const ImportedNode mixed =
      a100_with(nic("m", 1, 10000) + unknown, {{"nic_bandwidth", "47 GB/s"}});
  CHECK(mixed.kind.nics == 2);
  CHECK(tests::finding(mixed.findings, "left out")->value == "m_1");
  const std::string impossible = nic("a", 1, 200000000) + nic("b", 1, 200000000);
  CHECK_THAT(
      fault([&] { a100_with(impossible); }),
      Catch::Contains("speed=\"200000000\" of NIC 'a_1' is no plausible rate; it is in Mb/s, "
                      "such as 400000; give the rate with --nic"));
  CHECK(a100_with(impossible, {{"nic_bandwidth", "23 GB/s"}}).kind.nic_bandwidth == 23e9);
  const std::string management = nic("a", 1, 1000) + nic("b", 1, 1000);
  CHECK_THAT(fault([&] { a100_with(management); }),
             Catch::Contains("the only NICs are of 0.125 GB/s nominal (a_1 .. b_1), as for "
                             "management; give those of the training traffic"));
  CHECK(a100_with(management, {{"nic_bandwidth", "23 GB/s"}}).kind.nic_bandwidth == 23e9);
  CHECK(tests::finding(a100_with(nic("a", 1, 10000) + nic("b", 1, 10000)).findings,
                       "NICs are slow") != nullptr);
}

TEST_CASE("NICs that GPUs cannot share evenly suggest some with the same bandwidth", "[import]") {
  // 3 x 24 GB/s are 2 x 36 GB/s.
  CHECK_THAT(fault([] {
               import_nccl(
                   typed(a100(4, nic("a", 1, 200000) + nic("b", 1, 200000) + nic("c", 1, 200000))));
             }),
             Catch::Contains("3 NICs cannot be shared evenly among 4 GPUs (a_1 .. c_1); use 2 with "
                             "the same bandwidth together: --nics 2 --nic '36 GB/s'"));
}

TEST_CASE("malformed NCCL topologies and matrices are rejected with their line", "[import]") {
  const auto nccl = [](const std::string& text) {
    return fault([&] { import_nccl(typed(text)); });
  };
  CHECK_THAT(nccl("<system>\n<cpu>\n</system>\n"), Catch::StartsWith("3: "));
  CHECK_THAT(nccl("<system>\n</system>\n"), Catch::StartsWith("1: has no GPU"));
  CHECK_THAT(nccl(a100(2, "") + ""), Catch::Contains("2: lists no NIC"));
  std::string text = a100(2, nic("a", 1, 200000));
  CHECK_THAT(nccl(text.replace(text.find("count=\"12\""), 10, "count=\"-1\"")),
             Catch::StartsWith("2: count=\"-1\" of <nvlink> must be a number >= 0"));
  CHECK_THAT(nccl(a100(1, nic("a", 1, 400000000))), Catch::Contains("it is in Mb/s"));
  const auto smi = [](const std::string& rows) {
    return fault([&] { import_smi(typed("\tGPU0\tGPU1\tNIC0\n" + rows), {{"gpu", "h200"}}); });
  };
  CHECK_THAT(smi("GPU0 X NV18 SYS\n"), Catch::StartsWith("1: the header names 2 GPUs, but there "
                                                         "are 1 rows"));
  CHECK_THAT(smi("GPU0 X NV18 SYS\nGPU1 NV17 X SYS\n"),
             Catch::StartsWith("2: NV18 leads from GPU0 to GPU1, but the reverse direction"));
  CHECK_THAT(smi("GPU0 X NVX SYS\nGPU1 NV17 X SYS\n"),
             Catch::StartsWith("2: 'NVX' is not a connection"));
  CHECK_THAT(smi("GPU0 X NV18\n"), Catch::StartsWith("2: GPU0 has 2 columns, but the header"));
  CHECK_THAT(smi("GPU1 NV18 X SYS\n"),
             Catch::StartsWith("2: found the row of GPU1, but expected that of"));
}
