#include "models/weights.h"
