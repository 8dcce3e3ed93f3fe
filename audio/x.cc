#include "audio/pcm.h"
