// One GPU, opened: its memory, its kernels by name, and one stream on which everything runs. Every failure is an Error
// that says which kernel or what amount of memory it was about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/driver.h"
#include "kernels/cuda/launch.h"
#include "models/error.h"

namespace sotto::cuda {

// Compiled kernels of one source file for one chip. The program holds them when it was built with the preset `cuda`.
struct Image {
  int chip;  // 80 for sm_80
  const void* data;
};
std::span<const Image> embedded_images();
extern std::span<const Image> simulated_images;  // with simulated_driver

// The device has less memory than is asked for.
struct OutOfMemory : Error {
  using Error::Error;
};

class Device {
 public:
  // number: which of the machine's GPUs. Throws Error if it can't be opened or no kernels are there for its chip.
  Device(const Driver& driver, int number, std::span<const Image> images);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  int chip() const { return chip_; }  // 80 for compute capability 8.0
  int attribute(int which) const;
  size_t free_memory() const;
  size_t total_memory() const;
  const Driver& driver() const { return driver_; }
  Handle stream() const { return stream_; }

  template <class Args>
  void launch(const char* kernel, const LaunchShape& shape, const Args& args) {
    launch_bytes(kernel, shape, &args);
  }
  void launch_bytes(const char* kernel, const LaunchShape& shape, const void* args);

  DevicePointer allocate(size_t bytes, const char* what);  // throws OutOfMemory
  void free(DevicePointer memory);
  void* allocate_host(size_t bytes);  // pinned, and readable by the device at the same address
  void free_host(void* memory);
  DevicePointer device_address(void* pinned);
  void make_current();  // for the calling thread
  void copy_to_device(DevicePointer to, const void* from, size_t bytes);
  void copy_to_host(void* to, DevicePointer from, size_t bytes);
  void copy_on_device(DevicePointer to, DevicePointer from, size_t bytes);
  void set_bytes(DevicePointer to, unsigned char value, size_t bytes);
  void synchronize();

  // Everything between the two becomes one graph; its launch then costs what one kernel's does.
  void begin_capture();
  Handle end_capture();
  void launch_graph(Handle graph, const char* what);
  void destroy_graph(Handle graph);

  // Throws Error for anything but 0: `what` "could not be done", and the driver's reason.
  void check(Result result, const std::string& what) const;

 private:
  explicit Device(const Driver& driver) : driver_(driver) {}  // so that what fails later is let go
  void load(std::span<const Image> images);
  Handle function(const char* kernel, uint32_t shared_bytes);

  const Driver& driver_;
  int device_ = 0;
  int chip_ = 0;
  std::string name_;
  Handle context_ = nullptr;
  Handle stream_ = nullptr;
  std::vector<Handle> modules_;
  struct Function {
    Handle handle;
    uint32_t shared_bytes;  // that it is allowed
  };
  std::map<std::string, Function> functions_;
  std::string last_kernel_ = "none";  // of those since the last synchronization, for what shows only then
};

// Memory of a device and pinned memory that are given back together.
class DeviceMemory {
 public:
  explicit DeviceMemory(Device& device) : device_(device) {}
  ~DeviceMemory() { clear(); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* take(size_t bytes, const char* what, bool zeros);
  void* take_pinned(size_t bytes);  // zeros
  void clear();

 private:
  Device& device_;
  std::vector<DevicePointer> memory_;
  std::vector<void*> pinned_;
};

}  // namespace sotto::cuda
