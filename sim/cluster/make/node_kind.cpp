#include "sim/cluster/make/node_kind.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "sim/cluster/platform/error.hpp"

namespace pipewright::cluster {
namespace {

constexpr double gb = 1e9;
constexpr double us = 1e-6;

// See latency_source().
constexpr double nvlink_latency = 1.7 * us;
constexpr double pcie_latency = 2.85 * us;
constexpr double nic_latency = 6.8 * us;

// See protocol_source().
constexpr double volta_launch = 35 * us;
constexpr double ampere_launch = 20 * us;
constexpr double hopper_launch = 10 * us;

constexpr std::string_view a100 = "GPU: A100 data sheet, 312 TFLOP/s bf16 dense, 80 GB.";
constexpr std::string_view h100 = "GPU: H100 SXM data sheet, 989 TFLOP/s bf16 dense, 80 GB.";
constexpr std::string_view nvlink3 =
    "NVLink3: 300 GB/s nominal (A100 data sheet: 600 both ways), 230 reached: all-reduces of 1 "
    "GiB\n"
    "on 6 to 8 GPUs less the steps' latency (github.com/VIA-Research/vTrain, trace/a100).";
constexpr std::string_view nvlink4 =
    "NVLink4: 450 GB/s nominal (H100 data sheet: 900 both ways), 370 reached by rings\n"
    "(github.com/NVIDIA/nccl-tests, issues 212 and 309). NVLink SHARP gets 0.83 of that: a bus\n"
    "bandwidth of 480 (github.com/NVIDIA/dgxc-benchmarking, nccl; nccl-tests, issue 290: 476).";
constexpr std::string_view hdr =
    "NIC: HDR200, 25 GB/s nominal, 24 reached (github.com/NVIDIA/nccl-tests, issue 119).";
constexpr std::string_view ndr =
    "NIC: NDR400, 50 GB/s nominal, 47 reached (github.com/NVIDIA/nccl-tests, issue 290: 46 to 48).";

constexpr std::string_view nvlink5 =
    "NVLink5: 900 GB/s nominal (1.8 TB/s both ways), 640 reached by rings: what the last of the\n"
    "bytes take in all-gathers and reduce-scatters of 128 to 512 MiB on 8 B200 and B300\n"
    "(github.com/ai-dynamo/aiconfigurator, nccl-tests of NCCL 2.29). Sums in the switches get\n"
    "0.75 of that: an all-reduce of 512 MiB has a bus bandwidth of 704 there.";

constexpr double p5_latency = 39 * us;
constexpr std::string_view efa =
    "NIC: four EFA ports of 100 Gb/s, 50 GB/s nominal; 46 reached is an assumption, as of RoCE.\n"
    "A step takes 78 us, fitted to two logs of nccl-tests "
    "(github.com/KeitaW/p5-nccl-test-2024-07-19).";

constexpr std::array kinds{
    NodeKind{.name = "dgx-a100",
             .help = "8 A100 80 GB, NVLink3, 8 HDR200",
             .gpu = "a100-80gb",
             .speed = "312Tf",
             .memory = "80GiB",
             .nvlink = 3,
             .link_bandwidth = 230 * gb,
             .link_latency = nvlink_latency,
             .nic_bandwidth = 24 * gb,
             .nic_latency = nic_latency,
             .launch = ampere_launch,
             .sources = {a100, nvlink3, hdr}},
    NodeKind{.name = "a100-4nic",
             .help = "8 A100 80 GB, NVLink3, 4 HDR200: two GPUs share one",
             .gpu = "a100-80gb",
             .speed = "312Tf",
             .memory = "80GiB",
             .nvlink = 3,
             .link_bandwidth = 230 * gb,
             .link_latency = nvlink_latency,
             .nics = 4,
             .nic_bandwidth = 24 * gb,
             .nic_latency = nic_latency,
             .launch = ampere_launch,
             .sources = {a100, nvlink3, hdr}},
    NodeKind{.name = "a100-roce",
             .help = "8 A100 40 GB in a cloud, NVLink3, 16 ports of 100G RoCE: two for each GPU",
             .gpu = "a100-40gb",
             .speed = "312Tf",
             .memory = "40GiB",
             .nvlink = 3,
             .link_bandwidth = 230 * gb,
             .link_latency = nvlink_latency,
             .nic_bandwidth = 24 * gb,
             .nic_latency = 7.5 * us,
             .launch = ampere_launch,
             .sources = {"GPU: A100 data sheet, 312 TFLOP/s bf16 dense, 40 GB.", nvlink3,
                         "NIC: twice 100 Gb/s Ethernet, 25 GB/s nominal, 24 reached "
                         "(github.com/NVIDIA/nccl-tests,\n"
                         "issue 119). A step takes 1.4 us more than over InfiniBand, an "
                         "assumption."}},
    NodeKind{.name = "dgx-h100",
             .help = "8 H100 SXM, NVLink4, 8 NDR400",
             .gpu = "h100-sxm",
             .speed = "989Tf",
             .memory = "80GiB",
             .nvlink = 4,
             .link_bandwidth = 370 * gb,
             .link_latency = nvlink_latency,
             .nic_bandwidth = 47 * gb,
             .nic_latency = nic_latency,
             .launch = hopper_launch,
             .sharp = 0.83,
             .sources = {h100, nvlink4, ndr}},
    NodeKind{.name = "h100-hdr",
             .help = "8 H100 SXM, NVLink4, 8 HDR200: dgx-h100 on the fabric of dgx-a100",
             .gpu = "h100-sxm",
             .speed = "989Tf",
             .memory = "80GiB",
             .nvlink = 4,
             .link_bandwidth = 370 * gb,
             .link_latency = nvlink_latency,
             .nic_bandwidth = 24 * gb,
             .nic_latency = nic_latency,
             .launch = hopper_launch,
             .sharp = 0.83,
             .sources = {h100, nvlink4, hdr}},
    NodeKind{.name = "h100-roce",
             .help = "8 H100 SXM in a cloud, NVLink4, 8 NICs of 400G RoCE",
             .gpu = "h100-sxm",
             .speed = "989Tf",
             .memory = "80GiB",
             .nvlink = 4,
             .link_bandwidth = 370 * gb,
             .link_latency = nvlink_latency,
             .nic_bandwidth = 46 * gb,
             .nic_latency = 7.5 * us,
             .launch = hopper_launch,
             .sharp = 0.83,
             .sources = {h100, nvlink4,
                         "NIC: 400 Gb/s Ethernet, 50 GB/s nominal; 46 reached is an assumption: "
                         "the low end of\n"
                         "what NDR400 reaches, for the larger headers of RoCE v2. A step takes 1.4 "
                         "us more than\n"
                         "over InfiniBand, an assumption too."}},
    NodeKind{.name = "p5-efa",
             .help = "8 H100 SXM of AWS p5, NVLink4, 32 ports of 100G EFA: four for each GPU",
             .gpu = "h100-sxm",
             .speed = "989Tf",
             .memory = "80GiB",
             .nvlink = 4,
             .link_bandwidth = 370 * gb,
             .link_latency = nvlink_latency,
             .nic_bandwidth = 46 * gb,
             .nic_latency = p5_latency,
             .launch = hopper_launch,
             .sharp = 0.83,
             .sources = {h100, nvlink4, efa}},
    NodeKind{.name = "dgx-b200",
             .help = "8 B200, NVLink5, 8 NDR400",
             .gpu = "b200",
             .speed = "2250Tf",
             .memory = "180GB",
             .nvlink = 5,
             .link_bandwidth = 640 * gb,
             .link_latency = nvlink_latency,
             .nic_bandwidth = 47 * gb,
             .nic_latency = nic_latency,
             .launch = hopper_launch,
             .sharp = 0.75,
             .sources = {"GPU: HGX B200 data sheet, 4.5 PFLOP/s bf16 with sparsity a GPU, so 2.25 "
                         "dense; 180 GB.",
                         nvlink5, ndr}},
    NodeKind{.name = "dgx-b300",
             .help = "8 B300, NVLink5, 8 XDR800",
             .gpu = "b300",
             .speed = "2250Tf",
             .memory = "288GB",
             .nvlink = 5,
             .link_bandwidth = 640 * gb,
             .link_latency = nvlink_latency,
             .nic_bandwidth = 94 * gb,
             .nic_latency = nic_latency,
             .launch = hopper_launch,
             .sharp = 0.75,
             .sources = {"GPU: HGX B300 data sheet, 4.5 PFLOP/s bf16 with sparsity a GPU, so 2.25 "
                         "dense; 288 GB.",
                         nvlink5,
                         "NIC: ConnectX-8, XDR800, 100 GB/s nominal; 94 reached: the same part as "
                         "of NDR400's, an assumption."}},
    NodeKind{.name = "gb200-nvl72",
             .help = "72 GB200 in one NVLink5 domain, 72 NDR400",
             .gpu = "gb200",
             .gpus = 72,
             .speed = "2500Tf",
             .memory = "186GB",
             .nvlink = 5,
             .link_bandwidth = 640 * gb,
             .link_latency = nvlink_latency,
             .nics = 72,
             .nic_bandwidth = 47 * gb,
             .nic_latency = nic_latency,
             .launch = hopper_launch,
             .sharp = 0.75,
             .sources = {"GPU: GB200 NVL72 data sheet, 5 PFLOP/s fp16 with sparsity a GPU, so 2.5 "
                         "dense;\n13.4 TB of HBM3e in 72 GPUs.",
                         nvlink5, ndr}},
    NodeKind{.name = "gb300-nvl72",
             .help = "72 GB300 in one NVLink5 domain, 72 XDR800",
             .gpu = "gb300",
             .gpus = 72,
             .speed = "2500Tf",
             .memory = "288GB",
             .nvlink = 5,
             .link_bandwidth = 640 * gb,
             .link_latency = nvlink_latency,
             .nics = 72,
             .nic_bandwidth = 94 * gb,
             .nic_latency = nic_latency,
             .launch = hopper_launch,
             .sharp = 0.75,
             .sources = {"GPU: GB300 NVL72 data sheet, 360 PFLOP/s bf16 with sparsity in 72 GPUs, "
                         "so 2.5 dense each;\n20 TB of HBM3e.",
                         nvlink5,
                         "NIC: XDR800, 100 GB/s nominal; 94 reached is an assumption, NDR400's "
                         "share."}},
    NodeKind{
        .name = "l40s-pcie",
        .help = "8 L40S on PCIe 4, 2 NICs of 100G for all of them",
        .gpu = "l40s",
        .speed = "362Tf",
        .memory = "45GiB",
        .wiring = NodeKind::Wiring::pcie,
        .link_bandwidth = 25 * gb,
        .link_latency = pcie_latency,
        .nics = 2,
        .nic_bandwidth = 12 * gb,
        .nic_latency = nic_latency - pcie_latency,
        .launch = ampere_launch,
        .sources = {"GPU: L40S data sheet, 362 TFLOP/s bf16 dense, 48 GB, of which ECC takes 3.",
                    "PCIe 4.0 x16: 31.5 GB/s nominal; 25 reached is an assumption, 80 % of it.",
                    "NIC: 100 Gb/s, 12.5 GB/s nominal, 12 reached (github.com/NVIDIA/nccl-tests,\n"
                    "issue 119). Both carry what any of the GPUs sends."}},
    NodeKind{.name = "dgx-1-v100",
             .help = "8 V100 32 GB, NVLink2 in a hybrid cube mesh, 4 EDR100",
             .gpu = "v100-32gb",
             .speed = "125Tf",
             .memory = "32GiB",
             .wiring = NodeKind::Wiring::cube_mesh,
             .nvlink = 2,
             .link_bandwidth = 24 * gb,
             .link_latency = 2 * nvlink_latency,
             .nics = 4,
             .nic_bandwidth = 12 * gb,
             .nic_latency = nic_latency,
             .launch = volta_launch,
             .sources =
                 {"GPU: V100 data sheet, 125 TFLOP/s fp16, 32 GB.",
                  "NVLink2: each link 25 GB/s nominal (DGX-1 system architecture, WP-08437-001),\n"
                  "24 reached (Dell, HPC innovation lab: 47.9 over two links). One or two links a\n"
                  "pair as DGX-1 has them (github.com/NVIDIA/nccl, issue 671); pairs without one\n"
                  "use PCIe 3.0 x16, 15.75 GB/s nominal, 10 reached across sockets (assumption).",
                  "NIC: EDR, 12.5 GB/s nominal, 12 reached (github.com/NVIDIA/nccl-tests, issue\n"
                  "119)."}},
};

}  // namespace

std::span<const NodeKind> node_kinds() { return kinds; }

std::string_view latency_source() {
  return "Latency: a step of a ring takes 3.4 us over NVLink, 5.7 over PCIe and 14 over a network\n"
         "with two switches on the way (NCCL, src/graph/tuning.cc, hwLat, ring, Simple; quoted in\n"
         "github.com/NVIDIA/nccl, issue 1334); half of it at each end. A switch and its cable "
         "take\n"
         "0.2 us of it (assumption).";
}

std::string_view protocol_source() {
  return "Protocols LL and LL128: parts of latency and bandwidth as in NCCL's model (tuning.cc: "
         "ring\n"
         "0.6, 1.9 and 3.4 us over NVLink by LL, LL128 and Simple, 1, 2.5 and 5.7 over PCIe, 2.7, "
         "4\n"
         "and 14 over a network; LL at most 87.7 GB/s on A100 in a node, and 22.5 over two "
         "nodes).\n"
         "NVLink SHARP: 25 us (there). LL128 takes 7 us more to begin (there). Launch: what 8 B "
         "take in\n"
         "public logs of nccl-tests less the steps' latency, in the middle 20 us on A100 (18 to 35 "
         "us\n"
         "measured on one node, 35 to 38 on two), 10 on H100 (13 to 17, 25), 35 on V100 (48).\n"
         "Messages of one GPU to many: 2.5 us each (all-to-all of 8 B over 16 A100, 60 us).";
}

const NodeKind& find_node_kind(std::string_view name) {
  std::string names;
  for (const NodeKind& kind : kinds) {
    if (kind.name == name) return kind;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  }
  throw Error(fmt::format("no node is called '{}'; there are {}", name, names));
}

}  // namespace pipewright::cluster
