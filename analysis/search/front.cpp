#include "analysis/search/front.hpp"
