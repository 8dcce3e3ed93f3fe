#include "kernels/cuda/device.h"

// Compiled kernels for all chips, which the preset `cuda` links in as one table (its last entry is chip 0).
extern "C" __attribute__((weak)) const sotto::cuda::Image sotto_cuda_images[];

namespace sotto::cuda {

std::span<const Image> simulated_images;

std::span<const Image> embedded_images() {
  const Image* const images = sotto_cuda_images;
  size_t n = 0;
  while (images && images[n].chip != 0) n++;
  return {images, n};
}

}  // namespace sotto::cuda
