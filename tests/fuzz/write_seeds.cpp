// Writes the first inputs of a fuzzer: `write_seeds FOLDER` writes small schedules of the catalog
// as PyTorch files in both forms.
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"
#include "schedules/text/torch_lowering.hpp"

using namespace pipewright::schedules;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

void write_seeds(const std::filesystem::path& folder) {
  for (const Entry& entry : catalog())
    for (const std::uint32_t devices : {1U, 2U, 4U}) {
      try {
        const Schedule schedule =
            make_schedule(entry.name, {.devices = devices, .microbatches = 2 * devices});
        const std::string name = fmt::format("{}-{}", entry.name, devices);
        write(folder / (name + ".csv"), to_torch_csv(schedule));
        for (const Receives receives : {Receives::at_send, Receives::before_pass})
          write(folder / fmt::format("{}-comms-{}.csv", name, static_cast<int>(receives)),
                to_torch_csv(lower(schedule, receives)));
      } catch (const Error&) {  // sizes that the family cannot do, or the format cannot hold
      }
    }
  write(folder / "legacy.csv", "L0F0,0B0,0W0,0F1,0BW1\n");
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  std::filesystem::create_directories(words[1]);
  write_seeds(words[1]);
  return 0;
}
