#include "sim/cluster/import/gpu_types.hpp"

#include <algorithm>

namespace pipewright::cluster {
namespace {

constexpr double nvlink2 = 24e9;
constexpr double nvlink3 = 230e9 / 12;
// A bridge of two A40 has 56.25 GB/s one way over 4 links (data sheet: 112.5 both ways), of which
// the A100's part is reached.
constexpr double nvlink3_of_a40 = 56.25e9 / 4 * 230 / 300;
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
    GpuType{"a40", 86, {"0x2235", "", ""}, 3, 0, nvlink3_of_a40, 24e9, 20e-6, 0},
    GpuType{"a10", 86, {"0x2236", "", ""}, 0, 0, 0, 11.5e9, 20e-6, 0},
    GpuType{"l40s", 89, {"0x26b9", "", ""}, 0, 0, 0, 12e9, 20e-6, 0},
    GpuType{"l20", 89, {"0x26ba", "", ""}, 0, 0, 0, 23e9, 20e-6, 0},
    GpuType{"rtx-4090", 89, {"0x2684", "", ""}, 0, 0, 0, 11.5e9, 20e-6, 0},
    GpuType{"h100-sxm", 90, {"0x2330", "", ""}, 4, 18, nvlink4, 49e9, 0, 0.8},
    GpuType{"h100-sxm-96gb", 90, {"0x233d", "", ""}, 4, 18, nvlink4, 49e9, 0, 0.8},
    GpuType{"h200", 90, {"0x2335", "0x233b", ""}, 4, 18, nvlink4, 49e9, 0, 0.8},
    GpuType{"h800", 90, {"0x2324", "", ""}, 4, 8, nvlink4_of_h800, 49e9, 0, 0.8},
    GpuType{"h20", 90, {"0x2329", "", ""}, 4, 18, nvlink4, 46e9, 0, 0.8},
    GpuType{"h100-pcie", 90, {"0x2331", "", ""}, 4, 0, nvlink4, 49e9, 20e-6, 0},
    GpuType{"gh200", 90, {"0x2342", "", ""}, 4, 18, nvlink4, 49e9, 0, 0.8},
    GpuType{"b200", 100, {"0x2901", "", ""}, 5, 18, nvlink5, 49e9, 0, 0.8},
    GpuType{"gb200", 100, {"0x2941", "", ""}, 5, 18, nvlink5, 49e9, 0, 0.8},
    GpuType{"b300", 103, {"0x3182", "", ""}, 5, 18, nvlink5, 94e9, 0, 0.8},
    GpuType{"gb300", 103, {"0x31c2", "", ""}, 5, 18, nvlink5, 94e9, 0, 0.8},
    GpuType{"mi250x", 0, {"0x7408", "0x740c", ""}, 0, 7, 37.5e9, 23e9, 10e-6, 0, true, true},
    GpuType{"mi300x", 0, {"0x74a1", "", ""}, 0, 7, 48e9, 47e9, 10e-6, 0, true},
    GpuType{"mi325x", 0, {"0x74a5", "", ""}, 0, 7, 48e9, 47e9, 10e-6, 0, true},
    GpuType{"mi350x", 0, {"0x75a0", "", ""}, 0, 7, 60e9, 47e9, 10e-6, 0, true},
    GpuType{"mi355x", 0, {"0x75a3", "", ""}, 0, 7, 60e9, 47e9, 10e-6, 0, true},
};

// Architectures and device identifiers are from the PCI ID Repository and from the amdgpu driver;
// compute units from the data sheets. A MI210 has as many compute units as a die of a MI250, so
// only its device has it.
constexpr std::array amd_products{
    AmdGpu{"MI50 or MI60", "", "gfx906", 0, {"0x66a0", "0x66a1", "", ""}},
    AmdGpu{"MI100", "", "gfx908", 0, {"0x738c", "0x738e", "", ""}},
    AmdGpu{"MI210", "", "", 0, {"0x740f", "0x7410", "", ""}},
    AmdGpu{"MI250X", "mi250x", "gfx90a", 0, {"0x7408", "0x740c", "", ""}},
    AmdGpu{"MI300A", "", "gfx942", 228, {"0x74a0", "", "", ""}},
    AmdGpu{"MI300X", "mi300x", "gfx942", 304, {"0x74a1", "0x74a9", "0x74b5", "0x74bd"}},
    AmdGpu{"MI308X", "", "gfx942", 80, {"0x74a2", "0x74a8", "0x74b6", "0x74bc"}},
    AmdGpu{"MI325X", "mi325x", "gfx942", 304, {"0x74a5", "0x74b9", "", ""}},
    AmdGpu{"MI350X", "mi350x", "gfx950", 256, {"0x75a0", "0x75b0", "", ""}},
    AmdGpu{"MI355X", "mi355x", "gfx950", 256, {"0x75a3", "0x75b3", "", ""}},
};

}  // namespace

std::span<const GpuType> gpu_types() { return types; }

std::vector<const AmdGpu*> amd_gpus(std::string_view device, std::string_view gcn,
                                    int compute_units) {
  std::vector<const AmdGpu*> by_device, by_gcn, by_units;
  for (const AmdGpu& gpu : amd_products) {
    if (!device.empty() && std::ranges::find(gpu.devices, device) != gpu.devices.end())
      by_device.push_back(&gpu);
    if (gcn.empty() || gpu.gcn != gcn) continue;
    by_gcn.push_back(&gpu);
    if (gpu.compute_units == 0 || gpu.compute_units == compute_units) by_units.push_back(&gpu);
  }
  if (!by_device.empty()) return by_device;
  return by_units.empty() ? by_gcn : by_units;
}

}  // namespace pipewright::cluster
