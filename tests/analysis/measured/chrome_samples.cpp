#include "tests/analysis/measured/chrome_samples.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "support/paths.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::test {
namespace {

constexpr double microseconds = 1e6;

}  // namespace

ChromeText& ChromeText::add(const std::string& name, double start_us, double length_us,
                            const std::string& category, int process, int thread) {
  events_ += fmt::format(
      R"({}{{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"External id":1}}}})",
      events_.empty() ? "" : ",\n", category, name, process, thread, start_us, length_us);
  return *this;
}

ChromeText& ChromeText::launch(double call_us, int thread, double start_us, double length_us,
                               const std::string& kernel) {
  ++launches_;
  events_ += fmt::format(
      R"({}{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":77,"tid":{},"ts":{:.3f},"dur":5.000,"args":{{"cbid":211,"correlation":{}}}}},
{{"ph":"s","id":{},"pid":77,"tid":{},"ts":{:.3f},"cat":"ac2g","name":"ac2g"}},
{{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":7,"ts":{:.3f},"dur":{:.3f},"args":{{"device":0,"stream":7,"correlation":{},"grid":[8,1,1]}}}},
{{"ph":"f","id":{},"pid":0,"tid":7,"ts":{:.3f},"cat":"ac2g","name":"ac2g","bp":"e"}})",
      events_.empty() ? "" : ",\n", thread, call_us, launches_, launches_, thread, call_us, kernel,
      start_us, length_us, launches_, launches_, start_us);
  return *this;
}

std::string ChromeText::text(int rank, const std::string& backend) const {
  const std::string info =
      rank < 0 ? ""
               : fmt::format(R"("distributedInfo":{{"backend":"{}","rank":{}}},)", backend, rank);
  return fmt::format("{{\"schemaVersion\":1,{}\n\"traceEvents\":[\n{}\n]}}\n", info, events_);
}

std::string chrome_text(const trace::Trace& trace, std::uint32_t device, double offset_us) {
  static constexpr const char* letters = "FIWBRST";
  ChromeText text;
  std::map<std::uint32_t, std::pair<double, double>> iterations;
  for (const trace::PassRow& pass : trace.passes) {
    if (pass.device != device) continue;
    const double start = pass.start * microseconds + offset_us;
    const double end = pass.end * microseconds + offset_us;
    text.add(fmt::format("PP:{}{}{}", pass.stage, letters[static_cast<int>(pass.kind)],
                         pass.microbatch % trace.run.microbatches),
             start, end - start);
    const auto [entry, is_new] = iterations.try_emplace(pass.iteration, start, end);
    entry->second = {std::min(entry->second.first, start), std::max(entry->second.second, end)};
  }
  for (const auto& [number, span] : iterations)
    text.add(fmt::format("ProfilerStep#{}", number + 5), span.first, span.second - span.first);
  return text.text(static_cast<int>(device));
}

std::vector<std::filesystem::path> write_chrome(const trace::Trace& trace,
                                                const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (std::uint32_t device = 0; device < trace.run.devices; ++device) {
    files.push_back(folder / fmt::format("rank{}.json", device));
    write_bytes(files.back(), chrome_text(trace, device));
  }
  return files;
}

std::filesystem::path measured_sample(const std::string& name) {
  return std::filesystem::path(PIPEWRIGHT_TEST_DATA) / "measured" / name;
}

}  // namespace pipewright::test
