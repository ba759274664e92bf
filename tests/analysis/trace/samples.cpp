#include "tests/analysis/trace/samples.hpp"

#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include <unistd.h>

#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"

namespace fs = std::filesystem;

namespace pipewright::test {

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "pipewright-test-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("no scratch folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code no_error;
  fs::remove_all(path_, no_error);
}

std::size_t ScratchFolder::entries() const {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {}));
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

trace::Trace random_trace(unsigned seed, std::uint32_t devices, std::size_t passes) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random);
  };
  const auto index = [&](std::uint64_t limit) { return static_cast<std::uint32_t>(below(limit)); };
  const auto duration = [&] { return std::exponential_distribution<double>(50)(random); };

  trace::Trace trace;
  trace.run = {"interleaved-1f1b",
               "simgrid",
               "eager",
               "clusters/a.xml",
               "schedule: {name: x}\n",
               "<platform/>\n",
               "pipewright 0.1.0",
               devices,
               2,
               64,
               3,
               3,
               3072};
  trace.run.job = "llama-3-8b on b200, tp 2, fp8";
  trace.run.evidence = {"b200 and l40s",
                        {"products.fp8.efficiency", "flops"},
                        {.low = -0.125,
                         .high = 0.25,
                         .nominal = 0.9,
                         .median = 0.0625,
                         .scatter = 0.03125,
                         .basis = "b200, fp8, dense, megatron-core",
                         .rows = 17}};
  for (std::uint32_t device = 0; device < devices; ++device) {
    trace.devices.push_back({device, "node-" + std::to_string(device), below(1ULL << 40)});
    for (std::uint32_t chunk = 0; chunk < 2; ++chunk)
      trace.stages.push_back({chunk * devices + device, chunk, device});
  }
  for (const char* operation : {"dispatch", "combine", "all-gather"})
    trace.pass_collectives.push_back({index(devices),
                                      operation == std::string("all-gather") ? "tp" : "ep",
                                      operation, random(), random(), duration(), duration()});
  std::vector<double> clock(devices, 0);
  std::vector<double> memory_clock(devices, 0);
  for (std::size_t i = 0; i < passes; ++i) {
    trace::PassRow pass;
    pass.device = index(devices);
    pass.chunk = index(2);
    pass.stage = pass.chunk * devices + pass.device;
    pass.microbatch = index(192);
    pass.iteration = pass.microbatch / 64;
    pass.kind = static_cast<trace::PassKind>(below(trace::pass_kinds));
    double& now = clock[pass.device];
    pass.sent = now * 0.875;
    pass.ready = now;
    pass.start = now + duration();
    pass.end = pass.start + duration();
    pass.released = pass.end + (below(2) == 0 ? 0 : duration());
    now = pass.released;
    trace.passes.push_back(pass);

    const double posted = duration();
    const double start = posted + duration();
    trace.transfers.push_back({pass.device, index(devices), pass.stage, pass.microbatch,
                               static_cast<trace::TransferKind>(below(2)), below(1ULL << 62),
                               posted, start, start + duration()});
    for (int repetition = 0; repetition < 2; ++repetition) {
      const std::uint32_t device = index(devices);
      memory_clock[device] += duration();
      trace.memory.push_back({device,
                              static_cast<trace::MemoryCategory>(below(trace::memory_categories)),
                              memory_clock[device], random()});
    }
  }
  for (std::uint32_t link = 0; link < 3; ++link) {
    trace.links.push_back({link, "node-" + std::to_string(link) + "_UP", link == 0 ? "" : "nvlink",
                           index(8) + 1, 1e9 + duration()});
    for (int traffic = 0; traffic < trace::traffic_classes; ++traffic) {
      const double start = duration();
      trace.link_use.push_back({link, static_cast<trace::TrafficClass>(traffic), start,
                                start + duration(), random(), duration(), duration()});
    }
    trace.paths.push_back({trace::TrafficClass::gradient, index(devices), index(devices), 0,
                           link == 2 ? trace::no_link : link, duration()});
  }
  return trace;
}

void write_trace(const trace::Trace& trace, const fs::path& file) {
  trace::TraceWriter writer(file);
  trace::replay(trace, writer);
}

}  // namespace pipewright::test
