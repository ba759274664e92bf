#include "sim/jobs/shell/sandbox.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/config/text/value.hpp"

namespace pipewright::jobs {
namespace {

namespace fs = std::filesystem;

constexpr int max_seconds = 10;
constexpr std::size_t max_record_bytes = 16U << 20U;
constexpr int inner_user = 1000;  // without capabilities once bash starts

// Tools that only compute, or change files of the sandbox.
constexpr std::array tools{"bash",  "sh",    "basename", "dirname",  "seq",  "expr",  "cat",
                           "cut",   "tr",    "head",     "tail",     "wc",   "sed",   "awk",
                           "gawk",  "mawk",  "grep",     "sort",     "uniq", "paste", "rev",
                           "env",   "bc",    "mktemp",   "mkdir",    "rm",   "cp",    "mv",
                           "touch", "ls",    "realpath", "readlink", "date", "uname", "tee",
                           "true",  "false", "sleep",    "printf",   "test", "xargs"};

// Failure in the child, which the parent reports.
struct Failure {
  std::string what;
};

void check(int result, const std::string& what) {
  if (result < 0) throw Failure{fmt::format("{}: {}", what, std::strerror(errno))};
}

void write_file(const fs::path& path, std::string_view text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw Failure{fmt::format("{} cannot be written", path.string())};
}

// Makes a file or folder of the system visible below the new root, read-only.
void bind_read_only(const fs::path& from, const fs::path& onto) {
  check(mount(from.c_str(), onto.c_str(), nullptr, MS_BIND | MS_REC, nullptr),
        "mount " + from.string());
  // Flags that the outer system has set cannot be taken back.
  struct statvfs present {};
  check(statvfs(onto.c_str(), &present), "statvfs " + from.string());
  unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV;
  if ((present.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  if ((present.f_flag & ST_NOATIME) != 0) flags |= MS_NOATIME;
  if ((present.f_flag & ST_NODIRATIME) != 0) flags |= MS_NODIRATIME;
  if ((present.f_flag & ST_RELATIME) != 0) flags |= MS_RELATIME;
  check(mount(nullptr, onto.c_str(), nullptr, flags, nullptr), "mount -o ro " + from.string());
}

void add_system(const fs::path& root) {
  for (const char* const folder : {"lib", "lib64", "usr/lib", "usr/lib64"}) {
    const fs::path from = fs::path("/") / folder;
    std::error_code failed;
    if (fs::is_symlink(from, failed)) {
      fs::create_directory_symlink(fs::read_symlink(from), root / folder, failed);
    } else if (fs::is_directory(from, failed)) {
      fs::create_directories(root / folder);
      bind_read_only(from, root / folder);
    }
  }
  fs::create_directories(root / "bin");
  for (const char* const tool : tools)
    for (const char* const folder : {"/bin/", "/usr/bin/"}) {
      std::error_code failed;
      const fs::path from = fs::canonical(std::string(folder) + tool, failed);
      if (failed) continue;
      write_file(root / "bin" / tool, "");
      bind_read_only(from, root / "bin" / tool);
      break;
    }
  fs::create_directory_symlink("/bin", root / "usr/bin");
  fs::create_directories(root / "dev");
  write_file(root / "dev/null", "");
  // <( ) is a file of /dev/fd. Without /proc, only such scripts fail.
  fs::create_directories(root / "proc");
  fs::create_symlink("/proc/self/fd", root / "dev/fd");
  mount("proc", (root / "proc").c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  check(mount("/dev/null", (root / "dev/null").c_str(), nullptr, MS_BIND, nullptr), "mount null");
}

// A layer above the working folder takes what the script writes. Without such layers, the folder is
// read-only.
void add_work(const fs::path& root, const fs::path& folder) {
  const fs::path onto = root / folder.relative_path();
  fs::create_directories(onto);
  fs::create_directories(root / "layer/upper");
  fs::create_directories(root / "layer/work");
  const std::string options =
      fmt::format("lowerdir={},upperdir={},workdir={}", folder.string(),
                  (root / "layer/upper").string(), (root / "layer/work").string());
  const bool is_plain = folder.string().find_first_of(",:\\") == std::string::npos;
  if (!is_plain ||
      mount("overlay", onto.c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) < 0)
    bind_read_only(folder, onto);
}

void limit_resources() {
  const auto limit = [](__rlimit_resource resource, rlim_t most) {
    const struct rlimit values {
      most, most
    };
    setrlimit(resource, &values);
  };
  limit(RLIMIT_CPU, max_seconds);
  limit(RLIMIT_AS, 2UL << 30U);
  limit(RLIMIT_FSIZE, 8UL << 20U);
  limit(RLIMIT_NOFILE, 256);
  limit(RLIMIT_NPROC, 4096);
  limit(RLIMIT_CORE, 0);
}

void enter_root(const fs::path& root) {
  fs::create_directories(root / "old");
  check(chdir(root.c_str()), "chdir");
  check(static_cast<int>(syscall(SYS_pivot_root, ".", "old")), "pivot_root");
  check(chdir("/"), "chdir");
  check(umount2("/old", MNT_DETACH), "umount");
}

void start_bash(const SandboxRun& run) {
  limit_resources();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int null = open("/dev/null", O_RDWR);
  for (const int descriptor : {0, 1, 2}) dup2(null, descriptor);
  syscall(SYS_close_range, 3U, ~0U, 0U);
  std::vector<std::string> variables{"PATH=/replaced:/bin", "BASH_ENV=/replaced/.start"};
  for (const auto& [name, value] : run.variables)
    if (name != "PATH") variables.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string bash = "/bin/bash";
  std::string option = "-c";
  std::string text = run.text;
  std::array<char*, 4> arguments{bash.data(), option.data(), text.data(), nullptr};
  if (chdir(run.folder.c_str()) == 0) execve(bash.c_str(), arguments.data(), environment.data());
  _exit(127);
}

// First process of the namespaces: builds the file system, runs bash, and writes the records to
// `into`, each as name, size and text.
void run_first(const SandboxRun& run, const fs::path& root, int into) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  check(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "mount private");
  check(mount("tmpfs", root.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=32m,nr_inodes=20k"),
        "mount tmpfs");
  fs::create_directories(root / "usr");
  add_system(root);
  for (const char* const folder : {"tmp", "records", "replaced"})
    fs::create_directories(root / folder);
  for (const std::string& name : run.replaced) {
    write_file(root / "replaced" / name, run.replacement);
    fs::permissions(root / "replaced" / name, fs::perms::owner_all);
  }
  write_file(root / "replaced/.start", run.start);
  add_work(root, run.visible);
  enter_root(root);
  const pid_t bash = fork();
  check(bash, "fork");
  if (bash == 0) start_bash(run);
  int status = 0;
  while (waitpid(bash, &status, 0) < 0 && errno == EINTR) {
  }
  std::string text = "ok\n";
  for (const fs::directory_entry& entry : fs::directory_iterator("/records")) {
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string record{std::istreambuf_iterator<char>(stream), {}};
    text += fmt::format("{} {}\n{}", entry.path().filename().string(), record.size(), record);
    if (text.size() > max_record_bytes) break;
  }
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(into, text.data() + at, text.size() - at);
    if (count <= 0) break;
    at += static_cast<std::size_t>(count);
  }
}

// Child of this process: enters the namespaces.
[[noreturn]] void run_outer(const SandboxRun& run, const fs::path& root, int into) {
  std::string failed;
  try {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    const uid_t user = getuid();
    const gid_t group = getgid();
    check(unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC |
                  CLONE_NEWUTS),
          "unshare");
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", fmt::format("{} {} 1\n", inner_user, user));
    write_file("/proc/self/gid_map", fmt::format("{} {} 1\n", inner_user, group));
    const pid_t first = fork();
    check(first, "fork");
    if (first == 0) {
      try {
        run_first(run, root, into);
      } catch (const Failure& failure) {
        dprintf(into, "failed %s", failure.what.c_str());
      } catch (const std::exception& error) {
        dprintf(into, "failed %s", error.what());
      }
      _exit(0);
    }
    close(into);
    while (waitpid(first, nullptr, 0) < 0 && errno == EINTR) {
    }
    _exit(0);
  } catch (const Failure& failure) {
    failed = failure.what;
  }
  dprintf(into, "failed %s", failed.c_str());
  _exit(0);
}

// Reads all that the child writes, until the end or the time limit.
std::string read_all(int from, bool& timed_out) {
  std::string text;
  std::array<char, 65536> buffer{};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(max_seconds);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    struct pollfd waiting {
      from, POLLIN, 0
    };
    const int ready = left.count() > 0 ? poll(&waiting, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    timed_out = ready <= 0;
    if (timed_out) return text;
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

SandboxResult result_of(std::string_view text) {
  SandboxResult result;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t space = text.find(' ');
    if (end == std::string_view::npos || space > end) break;
    const std::string name(text.substr(0, space));
    const auto size = std::stoul(std::string(text.substr(space + 1, end - space - 1)));
    result.records.emplace_back(name, text.substr(end + 1, size));
    text.remove_prefix(std::min(end + 1 + size, text.size()));
  }
  return result;
}

}  // namespace

SandboxResult run_in_sandbox(const SandboxRun& run) {
  std::string pattern = (fs::temp_directory_path() / "pipewright-bash-XXXXXX").string();
  std::array<int, 2> ends{};
  if (mkdtemp(pattern.data()) == nullptr || pipe2(ends.data(), O_CLOEXEC) != 0)
    throw config::Error("--run-with-bash: no temporary folder can be made");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_outer(run, pattern, ends[1]);
  }
  close(ends[1]);
  bool timed_out = false;
  const std::string text = child < 0 ? "failed fork" : read_all(ends[0], timed_out);
  close(ends[0]);
  if (child > 0) {
    if (timed_out) kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  std::error_code ignored;
  fs::remove(pattern, ignored);
  if (timed_out) return {.records = {}, .timed_out = true};
  if (!text.starts_with("ok\n"))
    throw config::Error(
        fmt::format("--run-with-bash needs namespaces of users, files and networks, which this "
                    "system does not give ({})",
                    text.starts_with("failed ") ? text.substr(7) : "the sandbox ended"))
        .suggest("leave the option out, or run where 'unshare -Urnm true' works");
  return result_of(std::string_view(text).substr(3));
}

}  // namespace pipewright::jobs
