#include "sim/cluster/import/gpu_types.hpp"

namespace pipewright::cluster {
namespace {

constexpr double nvlink2 = 24e9;
constexpr double nvlink3 = 230e9 / 12;
constexpr double nvlink4 = 370e9 / 18;
constexpr double nvlink4_of_h800 = 160e9 / 8;
constexpr double nvlink5 = 677e9 / 18;

// Device identifiers are from the PCI ID Repository (pci-ids.ucw.cz). An MI300X has a link to each
// of seven other GPUs, and reaches 48 of 64 GB/s in the nodes of the documentation.
constexpr std::array types{
    GpuType{"v100-32gb", 70, {"0x1db5", "0x1db6", "0x1db8"}, 2, 6, nvlink2, 12e9, 35e-6, 0},
    GpuType{"v100-16gb", 70, {"0x1db1", "0x1db4", "0x1db3"}, 2, 6, nvlink2, 12e9, 35e-6, 0},
    GpuType{"a100-80gb", 80, {"0x20b2", "0x20b5", ""}, 3, 12, nvlink3, 24e9, 0, 0},
    GpuType{"a100-40gb", 80, {"0x20b0", "0x20f1", "0x20b1"}, 3, 12, nvlink3, 24e9, 0, 0},
    GpuType{"a800", 80, {"0x20f3", "", ""}, 3, 8, nvlink3, 24e9, 0, 0},
    GpuType{"a40", 86, {"0x2235", "", ""}, 0, 0, 0, 24e9, 20e-6, 0},
    GpuType{"a10", 86, {"0x2236", "", ""}, 0, 0, 0, 11.5e9, 20e-6, 0},
    GpuType{"l40s", 89, {"0x26b9", "", ""}, 0, 0, 0, 12e9, 20e-6, 0},
    GpuType{"l20", 89, {"0x26ba", "", ""}, 0, 0, 0, 23e9, 20e-6, 0},
    GpuType{"rtx-4090", 89, {"0x2684", "", ""}, 0, 0, 0, 11.5e9, 20e-6, 0},
    GpuType{"h100-sxm", 90, {"0x2330", "", ""}, 4, 18, nvlink4, 47e9, 0, 0.8},
    GpuType{"h100-sxm-96gb", 90, {"0x233d", "", ""}, 4, 18, nvlink4, 47e9, 0, 0.8},
    GpuType{"h200", 90, {"0x2335", "0x233b", ""}, 4, 18, nvlink4, 47e9, 0, 0.8},
    GpuType{"h800", 90, {"0x2324", "", ""}, 4, 8, nvlink4_of_h800, 47e9, 0, 0.8},
    GpuType{"h20", 90, {"0x2329", "", ""}, 4, 18, nvlink4, 46e9, 0, 0.8},
    GpuType{"h100-pcie", 90, {"0x2331", "", ""}, 0, 0, 0, 47e9, 20e-6, 0},
    GpuType{"gh200", 90, {"0x2342", "", ""}, 4, 18, nvlink4, 47e9, 0, 0.8},
    GpuType{"b200", 100, {"0x2901", "", ""}, 5, 18, nvlink5, 47e9, 0, 0.8},
    GpuType{"gb200", 100, {"0x2941", "", ""}, 5, 18, nvlink5, 47e9, 0, 0.8},
    GpuType{"b300", 103, {"0x3182", "", ""}, 5, 18, nvlink5, 94e9, 0, 0.8},
    GpuType{"gb300", 103, {"0x31c2", "", ""}, 5, 18, nvlink5, 94e9, 0, 0.8},
    GpuType{"mi300x", 0, {"0x74a1", "", ""}, 0, 7, 48e9, 47e9, 10e-6, 0, true},
    GpuType{"mi325x", 0, {"0x74a5", "", ""}, 0, 7, 48e9, 47e9, 10e-6, 0, true},
    GpuType{"mi350x", 0, {"0x75a0", "", ""}, 0, 7, 60e9, 47e9, 10e-6, 0, true},
    GpuType{"mi355x", 0, {"0x75a3", "", ""}, 0, 7, 60e9, 47e9, 10e-6, 0, true},
};

}  // namespace

std::span<const GpuType> gpu_types() { return types; }

}  // namespace pipewright::cluster
