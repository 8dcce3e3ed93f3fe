#include "kernels/network.h"
