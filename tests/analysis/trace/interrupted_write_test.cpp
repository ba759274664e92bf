#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/trace/error.hpp"
#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "analysis/trace/writer.hpp"
#include "tests/analysis/trace/samples.hpp"

using namespace pipewright;
using test::ScratchFolder;

namespace {

struct Child {
  pid_t id;
  int out;  // Read end of the pipe from descriptor 2 of the child.

  // Waits for the end of the child process, stores its status, and returns its error output.
  std::string wait(int& status) const {
    std::string text;
    char buffer[256];
    for (ssize_t n; (n = ::read(out, buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
    ::close(out);
    ::waitpid(id, &status, 0);
    return text;
  }
};

Child start(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t id = ::fork();
  REQUIRE(id >= 0);
  if (id == 0) {
    ::dup2(ends[1], 2);
    ::close(ends[0]);
    ::close(ends[1]);
    body();
    std::exit(0);  // Not _exit(): HDF5 must also shut down cleanly.
  }
  ::close(ends[1]);
  return {id, ends[0]};
}

}  // namespace

TEST_CASE("a killed writer leaves nothing under the final name", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace trace = test::random_trace(1, 4, 40000);
  const bool had_earlier = GENERATE(false, true);
  const trace::Trace earlier = test::random_trace(2, 1, 10);
  if (had_earlier) test::write_trace(earlier, folder / "a.h5");

  const Child child = start([&] {
    trace::TraceWriter writer(folder / "a.h5");
    writer.begin(trace.run, trace.devices, trace.stages);
    for (const auto& row : trace.passes) writer.pass(row);
    if (::write(2, "!", 1) == 1) ::pause();
  });
  char sign = 0;
  REQUIRE(::read(child.out, &sign, 1) == 1);
  REQUIRE(::kill(child.id, SIGKILL) == 0);
  int status = 0;
  child.wait(status);
  REQUIRE(WIFSIGNALED(status));

  CHECK(std::filesystem::exists(folder / "a.h5") == had_earlier);
  if (had_earlier) CHECK((trace::read_trace(folder / "a.h5") == earlier));
  test::write_trace(trace, folder / "a.h5");  // Remains of the killed writer do not matter.
  CHECK((trace::read_trace(folder / "a.h5") == trace));
  CHECK(folder.entries() == 1);  // The next writer removed them.
}

TEST_CASE("a full disk is an error with that reason, and leaves no file", "[trace]") {
  const ScratchFolder folder;
  const trace::Trace trace = test::random_trace(1, 4, 40000);
  // The maximum file size stands for a full disk: writing fails beyond it. A low limit fails at the
  // headers or the first chunk, a high one in the middle of the rows.
  const rlim_t limit = GENERATE(0, 100, 5000, 400'000, 1'500'000, 3'000'000);
  CAPTURE(limit);
  const Child child = start([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit room{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &room);
    try {
      test::write_trace(trace, folder / "a.h5");
    } catch (const trace::TraceError& error) {
      const std::string text = error.what();
      if (::write(2, text.data(), text.size()) < 0) std::exit(1);
    }
  });
  int status = 0;
  const std::string message = child.wait(status);
  CHECK(message == (folder / "a.h5: cannot write: File too large").string());
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(folder.entries() == 0);
}
