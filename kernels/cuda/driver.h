// NVIDIA's driver as one table of functions, opened at run time, so that one program serves machines with and without a
// GPU. The tests fill the same table from an executor on the host.
//
// Names, types and values are the CUDA driver API's (cuda.h), of which nothing is needed to build this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sotto::cuda {

using Result = int;  // 0: all is well
using DevicePointer = uint64_t;
using Handle = void*;  // contexts, modules, functions, streams, events, graphs

constexpr Result kOutOfMemory = 2, kNoDevice = 100, kNotReady = 600;

// Device attributes, function attributes and flags that are used.
constexpr int kMultiprocessors = 16, kClockKhz = 13, kIntegrated = 18, kMemoryClockKhz = 36, kMemoryBusBits = 37,
              kL2Bytes = 38, kMajor = 75, kMinor = 76, kSharedBytesOptIn = 97;
constexpr int kFunctionMaxSharedBytes = 8;
constexpr unsigned kHostAllocPortable = 1, kHostAllocMapped = 2, kStreamNonBlocking = 1, kCaptureThreadLocal = 1;

// X(member, symbol in libcuda, arguments)
#define SOTTO_DRIVER_FUNCTIONS(X)                                                                                     \
  X(init, cuInit, (unsigned flags))                                                                                   \
  X(driver_version, cuDriverGetVersion, (int* version))                                                               \
  X(device_count, cuDeviceGetCount, (int* n))                                                                         \
  X(device, cuDeviceGet, (int* device, int number))                                                                   \
  X(device_name, cuDeviceGetName, (char* name, int size, int device))                                                 \
  X(device_attribute, cuDeviceGetAttribute, (int* value, int attribute, int device))                                  \
  X(retain_context, cuDevicePrimaryCtxRetain, (Handle* context, int device))                                          \
  X(release_context, cuDevicePrimaryCtxRelease_v2, (int device))                                                      \
  X(set_context, cuCtxSetCurrent, (Handle context))                                                                   \
  X(memory_info, cuMemGetInfo_v2, (size_t* free, size_t* total))                                                      \
  X(load_module, cuModuleLoadData, (Handle* module, const void* image))                                               \
  X(unload_module, cuModuleUnload, (Handle module))                                                                   \
  X(function, cuModuleGetFunction, (Handle* function, Handle module, const char* name))                               \
  X(set_function_attribute, cuFuncSetAttribute, (Handle function, int attribute, int value))                          \
  X(allocate, cuMemAlloc_v2, (DevicePointer* memory, size_t bytes))                                                   \
  X(free, cuMemFree_v2, (DevicePointer memory))                                                                       \
  X(allocate_host, cuMemHostAlloc, (void** memory, size_t bytes, unsigned flags))                                     \
  X(free_host, cuMemFreeHost, (void* memory))                                                                         \
  X(device_address, cuMemHostGetDevicePointer_v2, (DevicePointer* memory, void* host, unsigned flags))                \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, (DevicePointer to, const void* from, size_t bytes, Handle stream))          \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, (void* to, DevicePointer from, size_t bytes, Handle stream))                  \
  X(copy_on_device, cuMemcpyDtoDAsync_v2, (DevicePointer to, DevicePointer from, size_t bytes, Handle stream))        \
  X(set_bytes, cuMemsetD8Async, (DevicePointer to, unsigned char value, size_t bytes, Handle stream))                 \
  X(create_stream, cuStreamCreate, (Handle* stream, unsigned flags))                                                  \
  X(destroy_stream, cuStreamDestroy_v2, (Handle stream))                                                              \
  X(synchronize, cuStreamSynchronize, (Handle stream))                                                                \
  X(query, cuStreamQuery, (Handle stream))                                                                            \
  X(create_event, cuEventCreate, (Handle* event, unsigned flags))                                                     \
  X(destroy_event, cuEventDestroy_v2, (Handle event))                                                                 \
  X(record, cuEventRecord, (Handle event, Handle stream))                                                             \
  X(wait_for_event, cuEventSynchronize, (Handle event))                                                               \
  X(elapsed_ms, cuEventElapsedTime, (float* ms, Handle from, Handle to))                                           \
  X(launch, cuLaunchKernel,                                                                                           \
    (Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
     unsigned block_z, unsigned shared_bytes, Handle stream, void** arguments, void** extra))                         \
  X(launch_cooperative, cuLaunchCooperativeKernel,                                                                    \
    (Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
     unsigned block_z, unsigned shared_bytes, Handle stream, void** arguments))                                       \
  X(begin_capture, cuStreamBeginCapture_v2, (Handle stream, int mode))                                                \
  X(end_capture, cuStreamEndCapture, (Handle stream, Handle* graph))                                                  \
  X(instantiate, cuGraphInstantiateWithFlags, (Handle* executable, Handle graph, unsigned long long flags))           \
  X(launch_graph, cuGraphLaunch, (Handle executable, Handle stream))                                                  \
  X(destroy_executable, cuGraphExecDestroy, (Handle executable))                                                      \
  X(destroy_graph, cuGraphDestroy, (Handle graph))                                                                    \
  X(error_name, cuGetErrorName, (Result error, const char** text))                                                    \
  X(error_text, cuGetErrorString, (Result error, const char** text))

struct Driver {
#define SOTTO_DRIVER_MEMBER(member, symbol, arguments) Result(*member) arguments = nullptr;
  SOTTO_DRIVER_FUNCTIONS(SOTTO_DRIVER_MEMBER)
#undef SOTTO_DRIVER_MEMBER
};

// This machine's driver, or null and why there is none, in a sentence without its end.
const Driver* open_driver(std::string& why_not);
bool driver_is_there();  // also one that can't be used

// Set by the tests' programs alone: what `--device cuda-sim` runs on.
extern const Driver* simulated_driver;

}  // namespace sotto::cuda
