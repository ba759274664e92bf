#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Access control of the page's server. Requests need the token and the host name under which the
// page is served. Pages of other sites have neither: browsers do not send them the cookie, a host
// name that was redirected to this machine (DNS rebinding) is refused, and no header allows other
// origins to read an answer.
namespace pipewright::serve {

// Returns random bytes from the operating system in hexadecimal, with two digits for each of
// `bytes` bytes. Throws std::runtime_error if the system supplies none.
std::string random_token(std::size_t bytes = 16);

// Compares two texts. The time does not depend on where they differ, so that it gives an attacker
// nothing about a secret.
bool are_equal(std::string_view a, std::string_view b);

// Those parts of a request that show where it comes from; empty if the request lacks the header.
struct Head {
  std::string_view target;  // "/?token=0123"
  std::string_view host;
  std::string_view cookie;
  std::string_view token;   // X-Pipewright-Token
  std::string_view origin;  // Origin, which browsers send
  std::string_view site;    // Sec-Fetch-Site, which browsers send
  std::string_view mode;    // Sec-Fetch-Mode: "navigate" for a link or the address bar
};

enum class Verdict : std::uint8_t {
  welcome,
  first_visit,   // the address contains a token: the answer is the page and sets the cookie
  wrong_host,    // 421
  wrong_origin,  // 403
  no_token,      // 401
};

class Gate {
 public:
  // `host` is the address that the server listens at: "127.0.0.1", "::1" or "localhost".
  Gate(const std::string& host, std::uint16_t port, std::string token);

  Verdict judge(const Head& head);
  std::string address() const;  // "http://127.0.0.1:8123/?token=.."
  // Returns an address with a token that is accepted once, for the command line of a browser, which
  // other users of the machine can read.
  std::string launch_address();
  std::string cookie() const;  // value of the header Set-Cookie

 private:
  bool is_own_host(std::string_view host) const;
  bool is_first_visit(std::string_view target);
  std::string address_with(std::string_view token) const;

  std::string host_;  // as in an address: IPv6 in brackets
  std::string port_;
  std::string token_;
  std::string launch_token_;  // empty once it was used
};

// Return the value of a parameter in the query of a target, or of a cookie; empty if there is none.
std::string_view query_value(std::string_view target, std::string_view name);
std::string_view cookie_value(std::string_view cookies, std::string_view name);
// Returns the target of a request without its query: "/file" of "/file?token=0123".
std::string_view path_of(std::string_view target);

}  // namespace pipewright::serve
