#include "schedules/text/torch_action.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "schedules/schedule.hpp"

namespace pipewright::schedules {
namespace {

constexpr std::array<std::string_view, 11> names{"F",       "I",       "W",          "B",
                                                 "SEND_F",  "RECV_F",  "SEND_B",     "RECV_B",
                                                 "UNSHARD", "RESHARD", "REDUCE_GRAD"};
constexpr std::string_view overlap = "OVERLAP_F_B";
constexpr std::uint32_t max_stages = 65535;  // The limit of Pass::stage.
constexpr std::uint32_t max_microbatches = 1U << 31U;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes the number at the start of `text` and returns it. Throws Error if it is not below
// `limit`; `noun` says in the message what the number is.
std::uint32_t take_number(std::string_view& text, std::uint32_t limit, std::string_view noun,
                          std::string_view cell) {
  std::uint32_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (length == 0)
    throw Error(
        fmt::format("{}: a {} number is missing; a cell looks like 0F3: stage, type, "
                    "microbatch",
                    quoted(cell), noun));
  if (fault != std::errc{} || value >= limit)
    throw Error(fmt::format("{}: {} {} is too large; {} are supported", quoted(cell), noun,
                            quoted(text.substr(0, length)), limit));
  text.remove_prefix(length);
  return value;
}

TorchOp find_op(std::string_view name, bool legacy, std::string_view cell) {
  if (legacy) {
    if (name == "B") return TorchOp::input_grad;
    if (name == "BW") return TorchOp::backward;
    if (name == "I")
      throw Error(fmt::format("{}: there is no I in a legacy file, where B is the input gradient",
                              quoted(cell)));
  } else if (name == "BW") {
    throw Error(
        fmt::format("{}: BW was the full backward, and B the input gradient, in files of "
                    "2024; read this one as legacy (--legacy)",
                    quoted(cell)));
  }
  const auto* const op_name = std::find(names.begin(), names.end(), name);
  if (op_name == names.end())
    throw Error(
        fmt::format("{}: there is no type {}; there are F, {}W, SEND_F, RECV_F, SEND_B, "
                    "RECV_B, UNSHARD, RESHARD, REDUCE_GRAD and (xFk;yBj)OVERLAP_F_B",
                    quoted(cell), quoted(name), legacy ? "B, BW, " : "I, B, "));
  return static_cast<TorchOp>(op_name - names.begin());
}

TorchAction parse_action(std::string_view text, bool legacy) {
  const std::string_view cell = text;
  TorchAction action;
  action.stage = static_cast<std::uint16_t>(take_number(text, max_stages, "stage", cell));
  const auto* const type_end = std::find_if(text.begin(), text.end(), is_digit);
  const auto length = static_cast<std::size_t>(type_end - text.begin());
  action.op = find_op(text.substr(0, length), legacy, cell);
  text.remove_prefix(length);
  if (takes_microbatch(action.op))
    action.microbatch = take_number(text, max_microbatches, "microbatch", cell);
  if (!text.empty())
    throw Error(fmt::format("{}: unexpected {}; {}", quoted(cell), quoted(text),
                            takes_microbatch(action.op) ? "a cell ends with the microbatch"
                                                        : "this type takes no microbatch"));
  return action;
}

std::vector<TorchAction> parse_pair(std::string_view cell, bool legacy) {
  const std::size_t close = cell.find(')');
  if (close == std::string_view::npos || cell.substr(close + 1) != overlap)
    throw Error(
        fmt::format("{}: a cell in parentheses looks like (0F7;7B3)OVERLAP_F_B", quoted(cell)));
  const std::string_view inner = cell.substr(1, close - 1);
  const std::size_t middle = inner.find(';');
  if (middle == std::string_view::npos || inner.find(';', middle + 1) != std::string_view::npos)
    throw Error(fmt::format("{}: an overlap has two actions with ';' between them", quoted(cell)));
  TorchAction first = parse_action(inner.substr(0, middle), legacy);
  const TorchAction second = parse_action(inner.substr(middle + 1), legacy);
  if (first.op != TorchOp::forward ||
      (second.op != TorchOp::backward && second.op != TorchOp::input_grad))
    throw Error(
        fmt::format("{}: an overlap is a forward and then a backward, as in "
                    "(0F7;7B3)OVERLAP_F_B",
                    quoted(cell)));
  if (first.stage == second.stage && first.microbatch == second.microbatch)
    throw Error(
        fmt::format("{}: the backward needs the end of its own forward, so they cannot "
                    "overlap",
                    quoted(cell)));
  first.fused = true;
  return {first, second};
}

}  // namespace

Pass to_pass(const TorchAction& action) {
  if (!is_pass(action.op)) throw std::logic_error("the action is not a pass");
  return {static_cast<PassKind>(action.op), action.stage, action.microbatch, action.fused};
}

TorchAction to_action(const Pass& pass) {
  if (pass.kind == PassKind::recompute || is_of_vocabulary(pass.kind))
    throw std::logic_error(std::string("no cell can hold a pass ") + letter(pass.kind));
  return {static_cast<TorchOp>(pass.kind), pass.stage, pass.microbatch, pass.fused};
}

TorchAction counterpart(const TorchAction& transfer) {
  const auto at = [&](TorchOp op, int step) {
    return TorchAction{op, static_cast<std::uint16_t>(transfer.stage + step), transfer.microbatch};
  };
  switch (transfer.op) {
    case TorchOp::send_f:
      return at(TorchOp::recv_f, 1);
    case TorchOp::recv_f:
      return at(TorchOp::send_f, -1);
    case TorchOp::send_b:
      return at(TorchOp::recv_b, -1);
    case TorchOp::recv_b:
      return at(TorchOp::send_b, 1);
    default:
      throw std::logic_error("the action is not a transfer");
  }
}

std::optional<TorchAction> receive_for(const TorchAction& action, const Routes& routes) {
  const std::uint32_t stage = action.stage;
  const auto crosses = [&](std::uint32_t neighbour) {
    return routes.device(stage, 0) != routes.device(neighbour, 0);
  };
  if (action.op == TorchOp::forward && stage > 0 && crosses(stage - 1))
    return TorchAction{TorchOp::recv_f, action.stage, action.microbatch};
  if (is_gradient(action.op) && stage + 1 < routes.stages() && crosses(stage + 1))
    return TorchAction{TorchOp::recv_b, action.stage, action.microbatch};
  return std::nullopt;
}

std::optional<TorchAction> send_after(const TorchAction& action, const Routes& routes) {
  const std::uint32_t stage = action.stage;
  const auto crosses = [&](std::uint32_t neighbour) {
    return routes.device(stage, 0) != routes.device(neighbour, 0);
  };
  if (action.op == TorchOp::forward && stage + 1 < routes.stages() && crosses(stage + 1))
    return TorchAction{TorchOp::send_f, action.stage, action.microbatch};
  if (is_gradient(action.op) && stage > 0 && crosses(stage - 1))
    return TorchAction{TorchOp::send_b, action.stage, action.microbatch};
  return std::nullopt;
}

std::string to_string(const TorchAction& action) {
  const std::string_view name = names.at(static_cast<std::size_t>(action.op));
  return takes_microbatch(action.op) ? fmt::format("{}{}{}", action.stage, name, action.microbatch)
                                     : fmt::format("{}{}", action.stage, name);
}

std::vector<TorchAction> parse_torch_cell(std::string_view text, bool legacy) {
  if (text.front() == '(') return parse_pair(text, legacy);
  return {parse_action(text, legacy)};
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    if (c >= ' ' && c <= '~')
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return result + (text.size() > longest ? "...'" : "'");
}

}  // namespace pipewright::schedules
