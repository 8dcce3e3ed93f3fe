// d [16 m][8 n] += a [16 m][16] b [16][8 n], for one vector width: Vector is defined by the file that includes this, which
// is compiled for one instruction set. Raw loops alone, so that nothing of them can serve the rest of the program.
namespace {

constexpr int kLanes = sizeof(Vector) / sizeof(float);
constexpr int kRows = 4;

template <int kVectors>
inline void rows_by_vectors(float* d, const float* a, const float* b, int columns) {
  Vector sum[kRows][kVectors];
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) __builtin_memcpy(&sum[r][v], d + r * columns + v * kLanes, sizeof(Vector));
  }
  for (int k = 0; k < 16; k++) {
    Vector right[kVectors];
    for (int v = 0; v < kVectors; v++) __builtin_memcpy(&right[v], b + k * columns + v * kLanes, sizeof(Vector));
    for (int r = 0; r < kRows; r++) {
      for (int v = 0; v < kVectors; v++) sum[r][v] += a[r * 16 + k] * right[v];
    }
  }
  for (int r = 0; r < kRows; r++) {
    for (int v = 0; v < kVectors; v++) __builtin_memcpy(d + r * columns + v * kLanes, &sum[r][v], sizeof(Vector));
  }
}

inline void multiply(float* d, const float* a, const float* b, int m, int n) {
  const int columns = 8 * n;
  for (int row = 0; row < 16 * m; row += kRows) {
    int c = 0;
    for (; c + 4 * kLanes <= columns; c += 4 * kLanes) {
      rows_by_vectors<4>(d + row * columns + c, a + row * 16, b + c, columns);
    }
    for (; c + kLanes <= columns; c += kLanes) {
      rows_by_vectors<1>(d + row * columns + c, a + row * 16, b + c, columns);
    }
    for (; c < columns; c++) {
      for (int r = row; r < row + kRows; r++) {
        float sum = d[r * columns + c];
        for (int k = 0; k < 16; k++) sum += a[r * 16 + k] * b[k * columns + c];
        d[r * columns + c] = sum;
      }
    }
  }
}

}  // namespace
