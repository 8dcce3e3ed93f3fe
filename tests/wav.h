// WAV files that tests make.
#pragma once

#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

// 16-bit sound in a RIFF container, its channels' samples in turns. data_size: what the header claims; negative: the truth.
inline void write_wav(const std::string& path, const std::vector<int16_t>& samples, int64_t data_size = -1,
                      int rate = 16000, int channels = 1) {
  const auto bytes = static_cast<uint32_t>(samples.size() * 2);
  const uint32_t claimed = data_size < 0 ? bytes : static_cast<uint32_t>(data_size);
  std::ofstream file(path, std::ios::binary);
  const auto put = [&](uint32_t value, int n) {
    for (int i = 0; i < n; ++i) file.put(static_cast<char>(value >> 8 * i));
  };
  file << "RIFF";
  put(claimed == 0xffffffffu ? claimed : claimed + 36, 4);
  file << "WAVEfmt ";
  put(16, 4);
  put(1, 2);
  put(channels, 2);
  put(rate, 4);
  put(rate * 2 * channels, 4);
  put(2 * channels, 2);
  put(16, 2);
  file << "data";
  put(claimed, 4);
  for (const int16_t sample : samples) put(static_cast<uint16_t>(sample), 2);
}

inline std::vector<int16_t> silence(int64_t n) { return std::vector<int16_t>(n); }

inline std::vector<int16_t> hum(int64_t n, double hertz = 50, double amplitude = 3000) {
  std::vector<int16_t> samples(n);
  for (int64_t i = 0; i < n; ++i)
    samples[i] = static_cast<int16_t>(amplitude * std::sin(2 * 3.14159265358979 * hertz * i / 16000));
  return samples;
}

// Pseudo-random noise, the same each time.
inline std::vector<int16_t> noise(int64_t n, int amplitude) {
  std::vector<int16_t> samples(n);
  uint32_t state = 1;
  for (int16_t& sample : samples) {
    state = state * 1664525u + 1013904223u;
    sample = static_cast<int16_t>(static_cast<int>(state >> 16) % (2 * amplitude + 1) - amplitude);
  }
  return samples;
}
