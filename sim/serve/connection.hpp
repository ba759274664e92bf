#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace pipewright::serve {

using Request = boost::beast::http::request<boost::beast::http::string_body>;

inline constexpr std::size_t most_body = 5U << 20U;   // bytes of a request
inline constexpr std::size_t most_head = 16U << 10U;  // bytes of its head
inline constexpr std::size_t most_connections = 64;   // at a time

// What goes back, all at once.
struct Reply {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> fields = {};
};

// A browser's connection: one request after the other, each answered by one reply or by lines that
// come as they are known.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Handler = std::function<void(const Request&, const std::shared_ptr<Connection>&)>;

  Connection(boost::asio::ip::tcp::socket socket, Handler handler);

  void read();

  void reply(Reply reply);

  // `gone` is called if the other side goes away before the end.
  void begin_lines(std::function<void()> gone);
  void line(const std::string& text);
  void end_lines();

 private:
  void refuse(unsigned status, const std::string& words);
  void watch();
  void write_next();
  void close();

  boost::beast::tcp_stream stream_;
  Handler handler_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  bool keep_alive_ = true;
  // Of lines.
  std::function<void()> gone_;
  std::deque<std::string> unsent_;
  bool writing_ = false;
  bool ended_ = true;
};

}  // namespace pipewright::serve
