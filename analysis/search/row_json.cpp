#include "analysis/search/row_json.hpp"
