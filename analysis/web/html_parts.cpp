#include "analysis/web/html_parts.hpp"

#include <fmt/format.h>

#include "analysis/web/html_file.hpp"

namespace pipewright::analysis {

std::string html_table(const TextTable& table) {
  std::string html = "<div class=\"wide\"><table><thead><tr>";
  const auto class_attribute = [](const TextTable::Column& column) {
    return column.left ? " class=\"text\"" : "";
  };
  for (const TextTable::Column& column : table.columns()) {
    html += fmt::format("<th{}>", class_attribute(column));
    for (std::size_t i = 0; i < column.head.size(); ++i)
      html += (i == 0 ? "" : "<br>") + html_text(column.head[i]);
    html += "</th>";
  }
  html += "</tr></thead><tbody>\n";
  for (std::size_t row = 0; row < table.columns().front().cells.size(); ++row) {
    html += "<tr>";
    for (const TextTable::Column& column : table.columns())
      html += fmt::format("<td{}>{}</td>", class_attribute(column), html_text(column.cells[row]));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string svg_address(std::string_view svg) { return "data:image/svg+xml;base64," + base64(svg); }

}  // namespace pipewright::analysis
