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

// NCCL protocol: one synchronization per chunk (Simple), or a flag beside every 8 bytes (LL) or
// every 120 bytes (LL128) of data, which saves synchronization at the cost of bandwidth.
enum class Protocol : std::uint8_t { simple, ll, ll128 };
inline constexpr int protocols = 3;
std::string_view to_string(Protocol protocol);  // "Simple", "LL", "LL128"

// Costs of a protocol over the links of a class, relative to Simple.
struct ProtocolCost {
  double latency = 1;     // fraction of the links' latency
  double efficiency = 1;  // fraction of the links' bandwidth that payload reaches
};
// Switches that reduce or copy data: NVLink SHARP inside nodes, SHARP between nodes.
struct InSwitch {
  double latency = 0;  // seconds of one pass through the switch
  // Further seconds for each GPU that sums a part of the data.
  double gpu_latency = 0;
  double efficiency = 1;  // fraction of the links' bandwidth that payload reaches
};

// Message costs on the links of one class, in addition to the properties of each link.
struct ClassModel {
  std::optional<double> latency;  // seconds of each link; overrides the link's own latency
  double efficiency = 1;          // fraction of the links' bandwidth that payload reaches
  std::array<std::optional<ProtocolCost>, protocols> per_protocol;  // none for Simple
  std::optional<InSwitch> in_switch;
  std::optional<double> message;  // overrides the global gap between messages, in seconds
  // Fraction of the bandwidth that remains if many ranks exchange messages directly.
  double direct_efficiency = 1;
  // NVLink generation, which selects NCCL's constants; 0 if not NVLink
  std::uint32_t generation = 0;
};

// Cost of communication in addition to bytes over links. The numbers are properties of the platform
// file's outermost zone, such as <prop id="nvlink.ll-efficiency" value="0.38"/>:
//
//   collective.launch        launch latency of an operation before its first step, "8us"
//   collective.simple-launch additional launch latency of Simple over LL
//   collective.ll128-launch  additional launch latency of LL128 over LL
//   collective.step          seconds of every step of a ring or tree, in addition to latencies
//   collective.post          seconds that the host needs to post a message of a ring over several
//                            nodes: no step of LL and LL128 is shorter, and none of Simple is
//                            shorter than three times as long (NCCL's getNetOverhead)
//   collective.message       seconds between successive messages that a GPU sends or receives
//                            when ranks exchange data directly: the gap of LogGP (Alexandrov et
//                            al. 1995)
//   collective.ring-ends     cost of the copies from and into the user's buffer at the two ends of
//                            a ring in a node, as a multiple of the time that a step's bytes take
//   collective.direct-ends   cost of copying a GPU's own part when all GPUs of a node exchange
//                            data directly, as a multiple of the time that a message's bytes take
//   collective.nccl          version of NCCL, "2.27", whose cost model chooses algorithms and
//                            protocols; without it, the fastest ones of this model are chosen
//   CLASS.latency            latency of each link of the class; overrides the link's own
//   CLASS.efficiency         fraction of the links' bandwidth that payload reaches
//   CLASS.direct-efficiency  fraction of the bandwidth that remains if many ranks exchange messages
//                            directly, as in an all-to-all
//   CLASS.message            overrides collective.message for messages over these links
//   CLASS.generation         NVLink generation, which selects NCCL's constants: 3 for A100, 4 for
//                            H100, 5 for B200
//   CLASS.ll-latency         fraction of the links' latency that a step by LL takes (and ll128-..)
//   CLASS.ll-efficiency      fraction of the bandwidth that payload reaches by LL (and ll128-..)
//   CLASS.sharp-latency      seconds of a reduction in the switches behind these links
//   CLASS.sharp-gpu-latency  further seconds for each GPU that sums a part
//   CLASS.sharp-efficiency   fraction of the bandwidth that such a reduction reaches
//
//   expected.NAME            value of any of these that NCCL assumes when it chooses an algorithm
//                            and a protocol, if it differs from the actual value
//
// All of them are optional: by default, steps cost latencies and bytes use the full bandwidth. A
// protocol is available if any class has a number for it.
struct MessageModel {
  double launch = 0;
  double simple_launch = 0;
  double ll128_launch = 0;
  double step = 0;
  double post = 0;
  double message = 0;
  double ring_ends = 0;
  double direct_ends = 0;
  std::optional<std::uint32_t> nccl;  // 27 for version 2.27
  std::map<std::string, ClassModel, std::less<>> classes;

  bool has(Protocol protocol) const;
  const ClassModel& of(std::string_view link_class) const;
  // Lowest NVLink generation that the platform file states; 0 if there are no NVLinks.
  std::uint32_t nvlink_generation() const;
};

// Description of one parameter of the model, by its name in platform files.
enum class ParameterUnit : std::uint8_t { seconds, ratio, steps };
struct ParameterInfo {
  std::string_view suffix;  // "launch" in collective.launch, "ll-latency" in nvlink.ll-latency
  bool is_per_class;        // CLASS.suffix if set, otherwise collective.suffix
  ParameterUnit unit;
  double minimum;  // allowed range
  double maximum;
  std::string_view help;  // one line
};
const std::vector<ParameterInfo>& parameter_list();

// Selects one of two sets of parameters: the actual ones, or those that NCCL assumes when it
// chooses an algorithm.
enum class Numbers : std::uint8_t { actual, expected };
inline constexpr int number_kinds = 2;

// Reads the model from properties of the outermost zone (for the expected numbers, with "expected."
// removed) and ignores properties that do not belong to the model. Throws Error, without file and
// line, for an unknown parameter of a known class or of `collective`, and for a value out of range.
MessageModel read_message_model(const std::vector<std::pair<std::string, std::string>>& properties,
                                const std::vector<std::string>& classes);

// Sets or returns one number by its name, such as "nvlink.latency". The result is empty if the file
// does not set the number.
void set_parameter(MessageModel& model, std::string_view name, double value);
std::optional<double> parameter(const MessageModel& model, std::string_view name);

}  // namespace pipewright::cluster
