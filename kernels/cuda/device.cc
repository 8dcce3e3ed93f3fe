#include "kernels/cuda/device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "models/error.h"

namespace sotto::cuda {
namespace {

constexpr uint32_t kSharedByDefault = 48 * 1024;  // more must be asked for

// The newest images that run on a chip: those of its own generation (a cubin runs on later chips of one major number).
int best_chip(std::span<const Image> images, int chip) {
  int best = 0;
  for (const Image& image : images) {
    if (image.chip / 10 == chip / 10 && image.chip <= chip) best = std::max(best, image.chip);
  }
  return best;
}

}  // namespace

Device::Device(const Driver& driver, int number, std::span<const Image> images) : Device(driver) {
  const Result started = driver_.init(0);
  int n = 0;
  if (started == 0) check(driver_.device_count(&n), "the GPUs could not be counted");
  if (started == kNoDevice || (started == 0 && n == 0)) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    throw Error("the NVIDIA driver shows no GPU" +
                (visible ? std::string(": CUDA_VISIBLE_DEVICES is \"") + visible + '"' : std::string()));
  }
  check(started, "the NVIDIA driver could not be started");
  if (number < 0 || number >= n) {
    throw Error("there is no GPU " + std::to_string(number) + ": this machine has " + std::to_string(n) +
                ", counted from 0");
  }
  check(driver_.device(&device_, number), "GPU " + std::to_string(number) + " could not be opened");
  char name[128] = {};
  check(driver_.device_name(name, sizeof name - 1, device_), "a GPU could not be asked for its name");
  name_ = name;
  chip_ = attribute(kMajor) * 10 + attribute(kMinor);
  load(images);
}

void Device::load(std::span<const Image> images) {
  const int best = best_chip(images, chip_);
  if (best == 0) {
    throw Error(images.empty() ? "this sotto was built without GPU kernels (build it with the preset cuda)"
                               : "this sotto has no kernels for " + name_ + " (sm_" + std::to_string(chip_) + ")");
  }
  check(driver_.retain_context(&context_, device_), name_ + " could not be opened");
  check(driver_.set_context(context_), name_ + " could not be opened");
  check(driver_.create_stream(&stream_, kStreamNonBlocking), "a stream could not be made on " + name_);
  int version = 0;
  check(driver_.driver_version(&version), "the NVIDIA driver's version is unknown");
  for (const Image& image : images) {
    if (image.chip != best) continue;
    modules_.push_back(nullptr);
    check(driver_.load_module(&modules_.back(), image.data),
          "kernels could not be loaded on " + name_ + " (the driver is for CUDA " + std::to_string(version / 1000) + "." +
              std::to_string(version % 1000 / 10) + "; a newer one may help)");
  }
}

Device::~Device() {
  if (stream_) {
    driver_.synchronize(stream_);
    driver_.destroy_stream(stream_);
  }
  for (Handle module : modules_) {
    if (module) driver_.unload_module(module);
  }
  if (context_) driver_.release_context(device_);
}

void Device::check(Result result, const std::string& what) const {
  if (result == 0) return;
  const char* text = nullptr;
  if (driver_.error_text(result, &text) != 0 || !text) text = "unknown error";
  throw Error(what + ": " + text + " (CUDA error " + std::to_string(result) + ")");
}

int Device::attribute(int which) const {
  int value = 0;
  check(driver_.device_attribute(&value, which, device_), "GPU attribute " + std::to_string(which) + " is unknown");
  return value;
}

size_t Device::free_memory() const {
  size_t free = 0, total = 0;
  check(driver_.memory_info(&free, &total), "the GPU's free memory is unknown");
  return free;
}

size_t Device::total_memory() const {
  size_t free = 0, total = 0;
  check(driver_.memory_info(&free, &total), "the GPU's memory is unknown");
  return total;
}

Handle Device::function(const char* kernel, uint32_t shared_bytes) {
  auto found = functions_.find(kernel);
  if (found == functions_.end()) {
    Handle handle = nullptr;
    for (Handle module : modules_) {
      if (driver_.function(&handle, module, kernel) == 0) break;
      handle = nullptr;
    }
    if (!handle) throw Error(std::string("this sotto has no kernel ") + kernel + " for " + name_);
    found = functions_.emplace(kernel, Function{handle, kSharedByDefault}).first;
  }
  Function& function = found->second;
  if (shared_bytes > function.shared_bytes) {
    check(driver_.set_function_attribute(function.handle, kFunctionMaxSharedBytes, static_cast<int>(shared_bytes)),
          std::string("kernel ") + kernel + " can't have " + std::to_string(shared_bytes) + " bytes of shared memory");
    function.shared_bytes = shared_bytes;
  }
  return function.handle;
}

void Device::launch_bytes(const char* kernel, const LaunchShape& shape, const void* args) {
  const Handle handle = function(kernel, shape.shared_bytes);
  void* arguments[] = {const_cast<void*>(args)};
  last_kernel_ = kernel;
  const Result result =
      shape.resident_blocks > 1
          ? driver_.launch_cooperative(handle, shape.grid_x, shape.grid_y, shape.grid_z, shape.threads, 1, 1,
                                       shape.shared_bytes, stream_, arguments)
          : driver_.launch(handle, shape.grid_x, shape.grid_y, shape.grid_z, shape.threads, 1, 1, shape.shared_bytes,
                           stream_, arguments, nullptr);
  check(result, std::string("kernel ") + kernel + " failed on " + name_);
}

DevicePointer Device::allocate(size_t bytes, const char* what) {
  DevicePointer memory = 0;
  const Result result = driver_.allocate(&memory, bytes);
  if (result == kOutOfMemory) {
    throw OutOfMemory("no " + std::to_string((bytes + 999'999) / 1'000'000) + " MB can be had for " + what + " on " + name_ +
                      ", which says that " + std::to_string(free_memory() / 1'000'000) + " MB are free");
  }
  check(result, std::string("no memory could be had on ") + name_ + " for " + what);
  return memory;
}

void Device::free(DevicePointer memory) {
  if (memory) driver_.free(memory);
}

void* Device::allocate_host(size_t bytes) {
  void* memory = nullptr;
  check(driver_.allocate_host(&memory, bytes, kHostAllocPortable | kHostAllocMapped),
        "there is no pinned memory of " + std::to_string(bytes) + " bytes");
  return memory;
}

void Device::free_host(void* memory) {
  if (memory) driver_.free_host(memory);
}

DevicePointer Device::device_address(void* pinned) {
  DevicePointer memory = 0;
  check(driver_.device_address(&memory, pinned, 0), "pinned memory can't be reached from " + name_);
  return memory;
}

void Device::make_current() { check(driver_.set_context(context_), name_ + " can't be used"); }

void Device::copy_to_device(DevicePointer to, const void* from, size_t bytes) {
  check(driver_.copy_to_device(to, from, bytes, stream_), "a copy to " + name_ + " failed");
}

void Device::copy_to_host(void* to, DevicePointer from, size_t bytes) {
  check(driver_.copy_to_host(to, from, bytes, stream_), "a copy from " + name_ + " failed");
}

void Device::copy_on_device(DevicePointer to, DevicePointer from, size_t bytes) {
  check(driver_.copy_on_device(to, from, bytes, stream_), "a copy on " + name_ + " failed");
}

void Device::set_bytes(DevicePointer to, unsigned char value, size_t bytes) {
  check(driver_.set_bytes(to, value, bytes, stream_), "memory of " + name_ + " could not be filled");
}

void Device::synchronize() {
  check(driver_.synchronize(stream_), name_ + " failed, at kernel " + last_kernel_ + " or one shortly before");
}

void Device::begin_capture() {
  check(driver_.begin_capture(stream_, kCaptureThreadLocal), "a graph could not be begun on " + name_);
}

Handle Device::end_capture() {
  Handle graph = nullptr, executable = nullptr;
  check(driver_.end_capture(stream_, &graph), "a graph could not be made on " + name_);
  const Result result = driver_.instantiate(&executable, graph, 0);
  driver_.destroy_graph(graph);
  check(result, "a graph could not be made on " + name_);
  return executable;
}

void Device::launch_graph(Handle graph, const char* what) {
  last_kernel_ = what;
  check(driver_.launch_graph(graph, stream_), std::string("the graph of ") + what + " failed on " + name_);
}

void Device::destroy_graph(Handle graph) {
  if (graph) driver_.destroy_executable(graph);
}

std::byte* DeviceMemory::take(size_t bytes, const char* what, bool zeros) {
  memory_.push_back(device_.allocate(bytes, what));
  if (zeros) device_.set_bytes(memory_.back(), 0, bytes);
  return reinterpret_cast<std::byte*>(memory_.back());
}

void* DeviceMemory::take_pinned(size_t bytes) {
  pinned_.push_back(device_.allocate_host(bytes));
  return std::memset(pinned_.back(), 0, bytes);
}

void DeviceMemory::clear() {
  device_.driver().synchronize(device_.stream());
  for (DevicePointer memory : memory_) device_.free(memory);
  for (void* memory : pinned_) device_.free_host(memory);
  memory_.clear();
  pinned_.clear();
}

}  // namespace sotto::cuda
