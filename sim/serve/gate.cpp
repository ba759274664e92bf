#include "sim/serve/gate.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <sys/random.h>

namespace pipewright::serve {
namespace {

// The value of `name` among "name=value" parts with `separator` between them.
std::string_view value_of(std::string_view parts, std::string_view name, char separator) {
  while (!parts.empty()) {
    std::string_view part = parts.substr(0, parts.find(separator));
    parts.remove_prefix(std::min(parts.size(), part.size() + 1));
    part.remove_prefix(std::min(part.size(), part.find_first_not_of(' ')));
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=')
      return part.substr(name.size() + 1);
  }
  return {};
}

// "10.1.2.3" or "[::1]", which no name server can make up.
bool is_number(std::string_view host) {
  return !host.empty() &&
         (host.front() == '[' || host.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace

std::string random_token(std::size_t bytes) {
  std::string raw(bytes, '\0');
  if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(raw.size()))
    throw std::runtime_error(fmt::format("no random numbers: {}", std::strerror(errno)));
  std::string token;
  for (const char byte : raw) token += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return token;
}

bool are_equal(std::string_view a, std::string_view b) {
  unsigned differs = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    differs |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return differs == 0;
}

std::string_view query_value(std::string_view target, std::string_view name) {
  const std::size_t query = target.find('?');
  return query == std::string_view::npos ? "" : value_of(target.substr(query + 1), name, '&');
}

std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  return value_of(cookies, name, ';');
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

Gate::Gate(std::string host, std::uint16_t port, std::string token)
    : host_(std::move(host)), port_(std::to_string(port)), token_(std::move(token)) {}

std::string Gate::address() const {
  const bool everywhere = host_ == "0.0.0.0";
  return fmt::format("http://{}:{}/?token={}", everywhere ? "127.0.0.1" : host_, port_, token_);
}

// Browsers send cookies of an address to all of its ports: the name tells them apart.
std::string Gate::cookie() const {
  return fmt::format("pipewright-{}={}; Path=/; HttpOnly; SameSite=Strict", port_, token_);
}

bool Gate::is_ours(std::string_view host) const {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || host.substr(colon + 1) != port_) return false;
  const std::string_view name = host.substr(0, colon);
  if (name == host_ || name == "localhost" || name == "127.0.0.1") return true;
  return host_ == "0.0.0.0" && is_number(name);
}

Verdict Gate::judge(const Head& head) const {
  if (!is_ours(head.host)) return Verdict::wrong_host;
  const std::string by_name = fmt::format("http://{}", head.host);
  if (!head.origin.empty() && head.origin != by_name) return Verdict::wrong_origin;
  const std::string_view cookie = cookie_value(head.cookie, "pipewright-" + port_);
  if (are_equal(query_value(head.target, "token"), token_) && path_of(head.target) == "/")
    return Verdict::first_visit;
  if (!are_equal(cookie, token_) && !are_equal(head.token, token_)) return Verdict::no_token;
  // Another port of this machine is the same site for cookies, but of another origin.
  constexpr std::array<std::string_view, 3> own{"", "same-origin", "none"};
  return std::ranges::find(own, head.site) != own.end() ? Verdict::welcome : Verdict::wrong_origin;
}

}  // namespace pipewright::serve
