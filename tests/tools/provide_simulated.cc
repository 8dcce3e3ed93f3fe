// Linked to the program, lets `--device cuda-sim` run on the executor.
#include "kernels/cuda/device.h"
#include "simt/simulated_driver.h"

namespace sotto {
namespace {

const bool provided = [] {
  cuda::simulated_driver = &simt::the_simulated_driver();
  cuda::simulated_images = simt::simulated_images();
  return true;
}();

}  // namespace
}  // namespace sotto
