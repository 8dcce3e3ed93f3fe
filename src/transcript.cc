#include "src/transcript.h"
