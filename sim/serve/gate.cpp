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

constexpr std::string_view every_ipv4 = "0.0.0.0";
constexpr std::string_view every_ipv6 = "[::]";

// Returns the value of `name` in a list of "name=value" parts; empty if it is not in the list.
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

// Returns whether a host is given as an IP address, such as "10.1.2.3" or "[::1]", so that no name
// server can redirect it.
bool is_address(std::string_view host) {
  return !host.empty() &&
         (host.front() == '[' || host.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace

std::string random_token(std::size_t bytes) {
  std::string raw(bytes, '\0');
  if (getrandom(raw.data(), raw.size(), 0) != static_cast<ssize_t>(raw.size()))
    throw std::runtime_error(
        fmt::format("the system cannot supply random numbers: {}", std::strerror(errno)));
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

Gate::Gate(const std::string& host, std::uint16_t port, std::string token)
    : host_(host.find(':') == std::string::npos ? host : fmt::format("[{}]", host)),
      port_(std::to_string(port)),
      token_(std::move(token)) {}

std::string Gate::address_with(std::string_view token) const {
  std::string_view host = host_;
  if (host_ == every_ipv4) host = "127.0.0.1";
  if (host_ == every_ipv6) host = "[::1]";
  return fmt::format("http://{}:{}/?token={}", host, port_, token);
}

std::string Gate::address() const { return address_with(token_); }

std::string Gate::launch_address() {
  launch_token_ = random_token();
  return address_with(launch_token_);
}

bool Gate::is_first_visit(std::string_view target) {
  if (path_of(target) != "/") return false;
  const std::string_view token = query_value(target, "token");
  if (are_equal(token, token_)) return true;
  if (launch_token_.empty() || !are_equal(token, launch_token_)) return false;
  launch_token_.clear();
  return true;
}

// The name of the cookie contains the port, since browsers send the cookies of a host to all of its
// ports, and several servers may run on this machine.
std::string Gate::cookie() const {
  return fmt::format("pipewright-{}={}; Path=/; HttpOnly; SameSite=Strict", port_, token_);
}

bool Gate::is_own_host(std::string_view host) const {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos || host.substr(colon + 1) != port_) return false;
  const std::string_view name = host.substr(0, colon);
  if (name == host_ || name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  return (host_ == every_ipv4 || host_ == every_ipv6) && is_address(name);
}

Verdict Gate::judge(const Head& head) {
  if (!is_own_host(head.host)) return Verdict::wrong_host;
  const std::string own_origin = fmt::format("http://{}", head.host);
  if (!head.origin.empty() && head.origin != own_origin) return Verdict::wrong_origin;
  const std::string_view cookie = cookie_value(head.cookie, "pipewright-" + port_);
  if (is_first_visit(head.target)) return Verdict::first_visit;
  if (!are_equal(cookie, token_) && !are_equal(head.token, token_)) return Verdict::no_token;
  // The cookie's rule SameSite admits pages that another port of this machine serves. Such a page
  // has another origin, so its requests are refused here.
  constexpr std::array<std::string_view, 3> own_sites{"", "same-origin", "none"};
  // A link on another site may open the page, since that site cannot read it. A browser that
  // reloads the page states the site of that link again.
  if (head.mode == "navigate" && path_of(head.target) == "/") return Verdict::welcome;
  return std::ranges::find(own_sites, head.site) != own_sites.end() ? Verdict::welcome
                                                                    : Verdict::wrong_origin;
}

}  // namespace pipewright::serve
