#include <cstdio>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using test::ScratchFolder;

namespace {

bool has_h5py() { return std::system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") == 0; }

// Runs a Python script in the folder and returns what it prints, including error messages.
std::string python(const ScratchFolder& folder, const std::string& script) {
  test::write_bytes(folder / "script.py", script);
  const std::string command =
      "cd " + folder.path().string() + " && /usr/bin/python3 script.py 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe);
  std::string text;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe)) text += buffer;
  REQUIRE(::pclose(pipe) == 0);
  return text;
}

trace::Trace small_trace() {
  trace::Trace trace = test::random_trace(1, 2, 2);
  trace.run.schedule = "1f1b";
  trace.devices[1].host = "nœud \"1\"";
  using trace::PassKind;
  trace.passes = {{0, 0, 0, 0, 0, PassKind::forward, 0, 0, 0, 0.5, 0.5},
                  {1, 1, 0, 0, 0, PassKind::forward, 0.5, 1, 1, 2, 2},
                  {1, 1, 0, 0, 0, PassKind::backward, 2, 2, 2, 4, 4}};
  return trace;
}

}  // namespace

TEST_CASE("the example of format.md runs", "[trace]") {
  if (!has_h5py()) {
    WARN("python3 has no h5py: skipped");
    return;
  }
  const std::string page = test::bytes_of(FORMAT_PAGE);
  const std::string fence = "```python\n";
  const std::size_t start = page.find(fence);
  REQUIRE(start != std::string::npos);
  const std::size_t code_start = start + fence.size();
  const ScratchFolder folder;
  test::write_trace(small_trace(), folder / "trace.h5");
  CHECK(python(folder, page.substr(code_start, page.find("```", code_start) - code_start)) ==
        "1f1b mean forward 0.75 s\n");
}

TEST_CASE("h5py reads names, enums and every table", "[trace]") {
  if (!has_h5py()) {
    WARN("python3 has no h5py: skipped");
    return;
  }
  const ScratchFolder folder;
  const trace::Trace trace = small_trace();
  test::write_trace(trace, folder / "trace.h5");
  const std::string printed = python(folder, R"(
import h5py
trace = h5py.File("trace.h5")
enum = lambda table, column: dict(h5py.check_enum_dtype(trace[table].dtype[column]))
print(sorted(trace))
print(trace.attrs["format"].decode(), trace.attrs["version"], trace.attrs["scenario"])
print(trace["cluster"][0].decode())
print(trace["devices"][1]["host"].decode(), trace["devices"]["device"])
print(enum("passes", "kind"))
print(enum("transfers", "kind"))
print(enum("memory", "category"))
print(enum("link_use", "traffic"))
print(trace["passes"].dtype.names, trace["passes"].chunks, trace["passes"].compression)
print(trace["passes"]["end"].tolist(), len(trace["transfers"]), len(trace["memory"]))
)");
  CHECK(
      printed ==
      R"(['cluster', 'collectives', 'devices', 'link_use', 'links', 'memory', 'pass_collectives', 'passes', 'paths', 'stages', 'steps', 'transfers', 'waits']
pipewright-trace 4 b'schedule: {name: x}\n'
<platform/>

nœud "1" [0 1]
{'F': 0, 'I': 1, 'W': 2, 'B': 3, 'R': 4, 'S': 5, 'T': 6}
{'activation': 0, 'gradient': 1}
{'weights': 0, 'gradients': 1, 'optimizer': 2, 'activations': 3, 'logits': 4, 'working': 5, 'gathered': 6, 'buffers': 7, 'allowance': 8}
{'activation': 0, 'gradient': 1, 'reduce_gradients': 2, 'gather_weights': 3, 'tie_embeddings': 4, 'in_passes': 5}
('device', 'stage', 'chunk', 'microbatch', 'iteration', 'kind', 'sent', 'ready', 'start', 'end', 'released') (16384,) gzip
[0.5, 2.0, 4.0] 2 4
)");
}
