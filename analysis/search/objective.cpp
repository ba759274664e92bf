#include "analysis/search/objective.hpp"
