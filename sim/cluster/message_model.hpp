#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pipewright::cluster {

// How NCCL moves bytes: with one wait a chunk (simple), or a flag beside every 8 bytes of data (LL)
// or beside every 120 (LL128), which saves waits and costs bandwidth.
enum class Protocol : std::uint8_t { simple, ll, ll128 };
inline constexpr int protocols = 3;
std::string_view to_string(Protocol protocol);  // "Simple", "LL", "LL128"

// A protocol over links of a class.
struct ProtocolCost {
  double latency = 1;     // part of the links' latency
  double efficiency = 1;  // part of their bandwidth that payload gets
};
// Switches that add up or copy on the way: NVLink SHARP inside nodes, SHARP between them.
struct InSwitch {
  double latency = 0;     // seconds of one pass through the switch
  double efficiency = 1;  // part of the links' bandwidth that payload gets
};

// What messages cost on links of one class, beside what each link says of itself.
struct ClassModel {
  std::optional<double> latency;  // seconds of each link, in place of the link's own
  double efficiency = 1;          // part of the links' bandwidth that payload gets
  std::array<std::optional<ProtocolCost>, protocols> by;  // of simple: none
  std::optional<InSwitch> in_switch;
  std::optional<double> message;  // in place of the gap between messages over any links
  std::uint32_t generation = 0;   // of NVLinks, by which NCCL takes its constants; 0: no NVLinks
};

// What communication costs beside bytes over links. The numbers stand in the platform file, as
// properties of its outermost zone, <prop id="nvlink.ll-efficiency" value="0.38"/>:
//
//   collective.launch        seconds of every operation before its first step, "8us"
//   collective.simple-launch what more it takes by Simple than by LL
//   collective.ll128-launch  what more it takes by LL128 than by LL
//   collective.step          seconds of every step of a ring or tree, beside latencies
//   collective.message       seconds of every further message that a GPU sends, or
//                            receives, where ranks talk directly: the gap of LogGP (Alexandrov et
//                            al. 1995)
//   collective.ring-ends     what the two ends of a ring's way through the ranks, which copy from
//                            and into the user's buffer, cost more: in steps of its bytes
//   collective.direct-ends   what the copy of a GPU's own part costs where all GPUs of a node talk
//                            directly: in messages of its bytes
//   collective.nccl          the version of NCCL, "2.27", by whose own model algorithms and
//                            protocols are chosen; without it, those that are the fastest here
//   CLASS.latency            of each link of the class, in place of the link's own
//   CLASS.efficiency         part of the links' bandwidth that payload reaches
//   CLASS.message            in place of collective.message, for messages over these links
//   CLASS.generation         of NVLinks: 3 of A100, 4 of H100, 5 of B200, as NCCL has constants
//   CLASS.ll-latency         part of the links' latency that a step takes by LL (and ll128-..)
//   CLASS.ll-efficiency      part of their bandwidth that payload gets by LL (and ll128-..)
//   CLASS.sharp-latency      seconds of a reduction in the switches behind these links
//   CLASS.sharp-efficiency   part of the bandwidth that such a reduction gets
//
//   expected.NAME            any of these, as NCCL takes it to be when it chooses an algorithm and
//                            a protocol, where what is true is something else
//
// None of them is needed: without any, steps cost latencies, and bytes the whole bandwidth. A
// protocol is there if any class has a number for it.
struct MessageModel {
  double launch = 0;
  double simple_launch = 0;
  double ll128_launch = 0;
  double step = 0;
  double message = 0;
  double ring_ends = 0;
  double direct_ends = 0;
  std::optional<std::uint32_t> nccl;  // 27 of version 2.27
  std::map<std::string, ClassModel, std::less<>> classes;

  bool has(Protocol protocol) const;
  const ClassModel& of(std::string_view link_class) const;
};

// One number of the model by its name in platform files.
enum class ParameterUnit : std::uint8_t { seconds, ratio, steps };
struct ParameterInfo {
  std::string_view suffix;  // "launch" of collective.launch, "ll-latency" of nvlink.ll-latency
  bool of_class;            // CLASS.suffix, else collective.suffix
  ParameterUnit unit;
  double least;  // what it may be
  double most;
  std::string_view help;  // one line
};
const std::vector<ParameterInfo>& parameter_list();

// NCCL chooses by numbers of its own, which need not be those that are true.
enum class Numbers : std::uint8_t { actual, expected };
inline constexpr int kinds_of_numbers = 2;

// Properties of the outermost zone, of those that begin with "expected." what comes after that;
// those that are none of the model's are left alone. Throws Error (without file and line) that
// names the property, what is wrong, and what would be right: an unknown parameter of a known class
// or of `collective`, or a value that cannot be.
MessageModel read_message_model(const std::vector<std::pair<std::string, std::string>>& properties,
                                const std::vector<std::string>& classes);

// Sets or asks one number, by its name: "nvlink.latency". No value: the file does not say it.
void set_parameter(MessageModel& model, std::string_view name, double value);
std::optional<double> parameter(const MessageModel& model, std::string_view name);

}  // namespace pipewright::cluster
