// How the tests of the CUDA kernels start them: on the executor, under every schedule; or on a GPU, when
// SOTTO_TEST_DEVICE=cuda, where one run has to do.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/cuda/device.h"
#include "kernels/cuda/ptx.cuh"
#include "simt/executor.h"
#include "simt/simulated_driver.h"

namespace sotto::test {

inline bool on_hardware() {
  const char* device = std::getenv("SOTTO_TEST_DEVICE");
  return device && std::string(device) == "cuda";
}

inline cuda::Device& device() {
  static cuda::Device device = [] {
    if (!on_hardware()) return cuda::Device(simt::the_simulated_driver(), 0, simt::simulated_images());
    std::string why_not;
    const cuda::Driver* driver = cuda::open_driver(why_not);
    if (!driver) throw std::runtime_error(why_not);
    return cuda::Device(*driver, 0, cuda::embedded_images());
  }();
  return device;
}

// Device memory of exactly so many values: one past its end is an error. 0xff (NaN) until written.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t n) : size_(n) {
    memory_ = device().allocate(n * sizeof(T), "a test");
    fill(0xff);
  }
  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) {
    device().copy_to_device(memory_, values.data(), values.size_bytes());
    device().synchronize();
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(std::span<const T>(values)) {}
  ~DeviceArray() { device().free(memory_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() const { return reinterpret_cast<T*>(memory_); }
  size_t size() const { return size_; }
  void fill(unsigned char byte) const { device().set_bytes(memory_, byte, size_ * sizeof(T)); }
  std::vector<T> host() const {
    std::vector<T> values(size_);
    device().copy_to_host(values.data(), memory_, size_ * sizeof(T));
    device().synchronize();
    return values;
  }

 private:
  cuda::DevicePointer memory_;
  size_t size_;
};

// Throws what went wrong, with the kernel's name.
template <class Args>
void launch(const char* kernel, const cuda::LaunchShape& shape, const Args& args) {
  device().launch(kernel, shape, args);
  if (on_hardware()) device().synchronize();
}

// The models' widths whose kernels this program has: the sanitizers' programs have one, which is enough for them.
inline bool has_width(int width) { return on_hardware() || simt::find_kernel("layer_norm_f16_" + std::to_string(width)); }
inline const std::vector<int>& widths() {
  static const std::vector<int> all = [] {
    std::vector<int> found = {384, 512, 768, 1024, 1280};
    std::erase_if(found, [](int width) { return !has_width(width); });
    return found;
  }();
  return all;
}

template <class Test>
void one_schedule(const Test& test) {
  simt::set_schedule({});
  test();
}

template <class Test>
void for_each_schedule(const Test& test) {
  if (on_hardware()) return one_schedule(test);
  for (const simt::Schedule& schedule : simt::all_schedules()) {
    simt::set_schedule(schedule);
    INFO("schedule: " << simt::name_of(schedule));
    test();
  }
  simt::set_schedule({});
}

// What all launches inside move and multiply; nothing on hardware, so ask only where !on_hardware().
template <class Test>
simt::Counters count(const Test& test) {
  simt::set_schedule({});
  simt::set_counting(true);
  test();
  simt::set_counting(false);
  simt::Counters sum;
  for (const auto& [name, counters] : simt::counted()) sum += counters;
  return sum;
}

template <class T>
std::vector<T> narrowed(std::span<const float> values) {
  std::vector<T> result(values.size());
  for (size_t i = 0; i < values.size(); i++) result[i] = cuda::from_float<T>(values[i]);
  return result;
}
inline std::vector<cuda::f16> f16_of(std::span<const float> values) { return narrowed<cuda::f16>(values); }
inline std::vector<cuda::bf16> bf16_of(std::span<const float> values) { return narrowed<cuda::bf16>(values); }

template <class T>
std::vector<float> floats_of(std::span<const T> values) {
  std::vector<float> result(values.size());
  for (size_t i = 0; i < values.size(); i++) result[i] = cuda::to_float(values[i]);
  return result;
}
template <class T>
std::vector<float> floats_of(const std::vector<T>& values) {
  return floats_of(std::span<const T>(values));
}

// Norm of the difference over the norm of what is expected; infinite where a value is not a number.
inline double relative_error(std::span<const float> values, std::span<const float> expected) {
  if (values.size() != expected.size()) return INFINITY;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < values.size(); i++) {
    const double d = double(values[i]) - expected[i];
    if (!(std::isfinite(d))) return INFINITY;
    difference += d * d;
    norm += double(expected[i]) * expected[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

}  // namespace sotto::test
