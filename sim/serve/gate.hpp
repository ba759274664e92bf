#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Who may ask the server of a page: somebody who was given its token, by the name that it is served
// under. A page of another site has neither: the cookie is not sent along from there, a name that
// was made to lead here (DNS rebinding) is not ours, and nothing allows it to read an answer.
namespace pipewright::serve {

// Bytes of the system's random numbers, as twice as many hexadecimal digits. Throws
// std::runtime_error where there are none.
std::string random_token(std::size_t bytes = 16);

// Takes as long however much of them is alike.
bool are_equal(std::string_view a, std::string_view b);

// What of a request's head tells who asks; empty: not there.
struct Head {
  std::string_view target;  // "/?token=0123"
  std::string_view host;
  std::string_view cookie;
  std::string_view token;   // of the header X-Pipewright-Token
  std::string_view origin;  // of what asks, where a browser says so
  std::string_view site;    // Sec-Fetch-Site, likewise
};

enum class Verdict : std::uint8_t {
  welcome,
  first_visit,   // by the address with its token: a cookie is due
  wrong_host,    // 421
  wrong_origin,  // 403
  no_token,      // 401
};

class Gate {
 public:
  // `host` is the address that is listened at.
  Gate(std::string host, std::uint16_t port, std::string token);

  Verdict judge(const Head& head) const;
  std::string address() const;  // "http://127.0.0.1:8123/?token=.."
  std::string cookie() const;   // of Set-Cookie

 private:
  bool is_ours(std::string_view host) const;

  std::string host_;
  std::string port_;
  std::string token_;
};

// The value of a parameter of a target's query, or of a cookie; empty: none.
std::string_view query_value(std::string_view target, std::string_view name);
std::string_view cookie_value(std::string_view cookies, std::string_view name);
// A target without its query.
std::string_view path_of(std::string_view target);

}  // namespace pipewright::serve
