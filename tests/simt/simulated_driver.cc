#include "simt/simulated_driver.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simt/executor.h"
#include "simt/fiber.h"

extern "C" __attribute__((weak)) void __asan_poison_memory_region(const volatile void*, size_t);

namespace sotto::simt {
namespace {

using cuda::DevicePointer;
using cuda::Driver;
using cuda::Handle;
using cuda::Result;

constexpr Result kInvalidValue = 1, kNoDevice = 100, kInvalidImage = 200, kNotFound = 500, kLaunchFailed = 719;
constexpr int kChip = 80;  // of the images
constexpr size_t kPage = 4096, kAlignment = 256;
constexpr size_t kMostPoisoned = size_t{64} << 20;  // bytes filled with 0xff; more would only cost time
constexpr int kDefaultShared = 48 * 1024, kMostShared = 163 * 1024;

struct Allocation {
  std::byte* mapping;
  size_t mapped, bytes;
};

struct Function {
  const Kernel* kernel;
  int shared_bytes = kDefaultShared;
};

using Graph = std::vector<std::function<Result()>>;

std::map<uintptr_t, Allocation> allocations;
std::map<const Kernel*, Function> functions;
size_t memory_used = 0;
std::string failure;
Graph* capture = nullptr;
std::mutex mutex;

Result do_or_capture(std::function<Result()> action) {
  if (!capture) return action();
  capture->push_back(std::move(action));
  return 0;
}

std::byte* map_memory(size_t bytes) {
  const size_t rounded = (bytes + kPage - 1) / kPage * kPage;
  void* mapping = mmap(nullptr, rounded + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  mprotect(static_cast<std::byte*>(mapping) + rounded, kPage, PROT_NONE);
  auto* begin = static_cast<std::byte*>(mapping);
  auto* data = begin + (rounded - bytes) / kAlignment * kAlignment;
  if (bytes <= kMostPoisoned) std::memset(begin, 0xff, rounded);
  if (__asan_poison_memory_region) __asan_poison_memory_region(data + bytes, begin + rounded - data - bytes);
  std::lock_guard lock(mutex);
  allocations[reinterpret_cast<uintptr_t>(data)] = {begin, rounded + kPage, bytes};
  return data;
}

Result unmap_memory(void* memory, size_t* bytes) {
  std::lock_guard lock(mutex);
  const auto found = allocations.find(reinterpret_cast<uintptr_t>(memory));
  if (found == allocations.end()) return kInvalidValue;
  const Allocation& allocation = found->second;
  *bytes = allocation.bytes;
  unmap(allocation.mapping, allocation.mapped);
  allocations.erase(found);
  return 0;
}

Result allocate(DevicePointer* memory, size_t bytes) {
  if (bytes == 0) return kInvalidValue;
  if (memory_used + bytes > faults().memory_had) return cuda::kOutOfMemory;
  std::byte* data = map_memory(bytes);
  if (!data) return cuda::kOutOfMemory;
  memory_used += bytes;
  *memory = reinterpret_cast<uintptr_t>(data);
  return 0;
}

Result launch(Handle handle, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y, unsigned block_z,
              unsigned shared_bytes, bool together, void** arguments) {
  const Function function = *static_cast<const Function*>(handle);
  if (block_y != 1 || block_z != 1 || static_cast<int>(shared_bytes) > function.shared_bytes) return kInvalidValue;
  auto copy = std::make_shared<std::vector<std::byte>>(function.kernel->argument_bytes + 64);
  void* aligned = copy->data();
  size_t space = copy->size();
  std::align(64, function.kernel->argument_bytes, aligned, space);
  std::memcpy(aligned, arguments[0], function.kernel->argument_bytes);
  return do_or_capture([=, keep = std::move(copy)] {
    if (faults().launches_left == 0) {
      failure = "a failure that was asked for";
      return kLaunchFailed;
    }
    if (faults().launches_left > 0) faults().launches_left--;
    std::string what = run(*function.kernel, {x, y, z}, block_x, shared_bytes, together ? x * y * z : 1, aligned);
    if (what.empty()) return Result{0};
    // Threads that were left in the middle never say that they are done with the arguments.
    if (kTsan) new std::shared_ptr(keep);
    failure = std::move(what);
    return kLaunchFailed;
  });
}

Result attribute(int* value, int which, int) {
  switch (which) {
    case cuda::kMultiprocessors: *value = 16; return 0;
    case cuda::kMajor: *value = faults().chip / 10; return 0;
    case cuda::kMinor: *value = faults().chip % 10; return 0;
    case cuda::kSharedBytesOptIn: *value = kMostShared; return 0;
    case cuda::kL2Bytes: *value = 40 << 20; return 0;
    case cuda::kClockKhz: *value = 1'410'000; return 0;
    default: *value = 0; return 0;
  }
}

Result error_text(Result error, const char** text) {
  switch (error) {
    case kInvalidValue: *text = "invalid argument"; break;
    case cuda::kOutOfMemory: *text = "out of memory"; break;
    case kNoDevice: *text = "no CUDA-capable device is detected"; break;
    case kInvalidImage: *text = "device kernel image is invalid"; break;
    case kNotFound: *text = "named symbol not found"; break;
    case kLaunchFailed: *text = failure.c_str(); break;
    default: *text = "unknown error"; break;
  }
  return 0;
}

int some_object;  // what handles point to that stand for nothing

void fill_memory_functions(Driver& d) {
  d.memory_info = [](size_t* free, size_t* total) {
    *free = faults().memory - std::min(memory_used, faults().memory);
    *total = faults().memory;
    return Result{0};
  };
  d.allocate = allocate;
  d.free = [](DevicePointer memory) {
    size_t bytes = 0;
    const Result result = unmap_memory(reinterpret_cast<void*>(memory), &bytes);
    memory_used -= bytes;
    return result;
  };
  d.allocate_host = [](void** memory, size_t bytes, unsigned) {
    *memory = map_memory(bytes);
    return *memory ? Result{0} : cuda::kOutOfMemory;
  };
  d.free_host = [](void* memory) {
    size_t bytes = 0;
    return unmap_memory(memory, &bytes);
  };
  d.device_address = [](DevicePointer* memory, void* host, unsigned) {
    *memory = reinterpret_cast<uintptr_t>(host);
    return Result{0};
  };
  d.copy_to_device = [](DevicePointer to, const void* from, size_t bytes, Handle) {
    return do_or_capture([=] { return std::memcpy(reinterpret_cast<void*>(to), from, bytes), Result{0}; });
  };
  d.copy_to_host = [](void* to, DevicePointer from, size_t bytes, Handle) {
    return do_or_capture([=] { return std::memcpy(to, reinterpret_cast<void*>(from), bytes), Result{0}; });
  };
  d.copy_on_device = [](DevicePointer to, DevicePointer from, size_t bytes, Handle) {
    return do_or_capture([=] {
      return std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), Result{0};
    });
  };
  d.set_bytes = [](DevicePointer to, unsigned char value, size_t bytes, Handle) {
    return do_or_capture([=] { return std::memset(reinterpret_cast<void*>(to), value, bytes), Result{0}; });
  };
}

void fill_device_functions(Driver& d) {
  d.init = [](unsigned) { return faults().init; };
  d.driver_version = [](int* version) { return *version = faults().driver_version, Result{0}; };
  d.device_count = [](int* n) { return *n = faults().devices, Result{0}; };
  d.device = [](int* device, int number) { return *device = number, number < faults().devices ? Result{0} : Result{101}; };
  d.device_name = [](char* name, int size, int) {
    std::snprintf(name, size, "the simulated GPU");
    return Result{0};
  };
  d.device_attribute = attribute;
  d.retain_context = [](Handle* context, int) { return *context = &some_object, Result{0}; };
  d.release_context = [](int) { return Result{0}; };
  d.set_context = [](Handle) { return Result{0}; };
  d.load_module = [](Handle* module, const void* image) {
    *module = const_cast<void*>(image);
    if (faults().load != 0) return faults().load;
    return image == simulated_images()[0].data ? Result{0} : kInvalidImage;
  };
  d.unload_module = [](Handle) { return Result{0}; };
  d.function = [](Handle* function, Handle, const char* name) {
    const Kernel* kernel = find_kernel(name);
    if (!kernel) return kNotFound;
    *function = &functions.try_emplace(kernel, Function{kernel}).first->second;
    return Result{0};
  };
  d.set_function_attribute = [](Handle function, int which, int value) {
    if (which != cuda::kFunctionMaxSharedBytes || value > kMostShared) return kInvalidValue;
    static_cast<Function*>(function)->shared_bytes = value;
    return Result{0};
  };
  d.error_name = error_text;
  d.error_text = error_text;
}

void fill_stream_functions(Driver& d) {
  d.create_stream = [](Handle* stream, unsigned) { return *stream = &some_object, Result{0}; };
  d.destroy_stream = [](Handle) { return Result{0}; };
  d.synchronize = [](Handle) { return Result{0}; };
  d.query = [](Handle) { return Result{0}; };
  using Clock = std::chrono::steady_clock;
  d.create_event = [](Handle* event, unsigned) { return *event = new Clock::time_point, Result{0}; };
  d.destroy_event = [](Handle event) { return delete static_cast<Clock::time_point*>(event), Result{0}; };
  d.record = [](Handle event, Handle) { return *static_cast<Clock::time_point*>(event) = Clock::now(), Result{0}; };
  d.wait_for_event = [](Handle) { return Result{0}; };
  d.elapsed_ms = [](float* ms, Handle from, Handle to) {
    *ms = std::chrono::duration<float, std::milli>(*static_cast<Clock::time_point*>(to) -
                                                   *static_cast<Clock::time_point*>(from)).count();
    return Result{0};
  };
  d.launch = [](Handle function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared_bytes, Handle, void** arguments, void**) {
    return launch(function, x, y, z, block_x, block_y, block_z, shared_bytes, false, arguments);
  };
  d.launch_cooperative = [](Handle function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                            unsigned block_z, unsigned shared_bytes, Handle, void** arguments) {
    return launch(function, x, y, z, block_x, block_y, block_z, shared_bytes, true, arguments);
  };
  d.begin_capture = [](Handle, int) { return capture ? kInvalidValue : (capture = new Graph, Result{0}); };
  d.end_capture = [](Handle, Handle* graph) {
    if (!capture) return kInvalidValue;
    *graph = capture;
    capture = nullptr;
    return Result{0};
  };
  d.instantiate = [](Handle* executable, Handle graph, unsigned long long) {
    *executable = new Graph(*static_cast<Graph*>(graph));
    return Result{0};
  };
  d.launch_graph = [](Handle executable, Handle) {
    for (const auto& action : *static_cast<Graph*>(executable)) {
      if (const Result result = action()) return result;
    }
    return Result{0};
  };
  d.destroy_executable = [](Handle executable) { return delete static_cast<Graph*>(executable), Result{0}; };
  d.destroy_graph = [](Handle graph) { return delete static_cast<Graph*>(graph), Result{0}; };
}

}  // namespace

const cuda::Driver& the_simulated_driver() {
  static const Driver driver = [] {
    Driver d;
    fill_device_functions(d);
    fill_memory_functions(d);
    fill_stream_functions(d);
    return d;
  }();
  return driver;
}

std::span<const cuda::Image> simulated_images() {
  static const cuda::Image image = {kChip, &some_object};
  return {&image, 1};
}

Faults& faults() {
  static Faults all;
  return all;
}
size_t simulated_memory_used() { return memory_used; }

}  // namespace sotto::simt
