// Everything of the encoder that depends on the model's width, as kernels: encoder_<width>.cu asks for one width's.
#pragma once

#include "kernels/cuda/layer_norm.cuh"
#include "kernels/cuda/product_s8.cuh"

#define PRODUCT_KERNEL(what, suffix, T, width, bins, tile, tile_name)                            \
  KERNEL(what##_##T##_##width##suffix##_##tile_name, kTileThreads[tile], kTileBlocks[tile], ProductArgs) { \
    multiply<T, Product::what, width, bins, tile>(args);                                         \
  }
#define PRODUCT_KERNELS(T, width, tile, tile_name)                        \
  PRODUCT_KERNEL(conv1, _80, T, width, 80, tile, tile_name)               \
  PRODUCT_KERNEL(conv1, _128, T, width, 128, tile, tile_name)             \
  PRODUCT_KERNEL(conv2, , T, width, 80, tile, tile_name)                  \
  PRODUCT_KERNEL(qkv, , T, width, 80, tile, tile_name)                    \
  PRODUCT_KERNEL(out, , T, width, 80, tile, tile_name)                    \
  PRODUCT_KERNEL(fc1, , T, width, 80, tile, tile_name)                    \
  PRODUCT_KERNEL(fc2, , T, width, 80, tile, tile_name)

// For widths that are multiples of 256.
#define WIDE_KERNELS(T, width)                        \
  PRODUCT_KERNEL(conv2, , T, width, 80, 3, 128x256)   \
  PRODUCT_KERNEL(qkv, , T, width, 80, 3, 128x256)     \
  PRODUCT_KERNEL(out, , T, width, 80, 3, 128x256)     \
  PRODUCT_KERNEL(fc1, , T, width, 80, 3, 128x256)     \
  PRODUCT_KERNEL(fc2, , T, width, 80, 3, 128x256)

#define PRODUCT_S8_KERNEL(what, suffix, T, width)                                                              \
  KERNEL(what##_s8##suffix##_##width, kByteThreads, 1, ProductS8Args) {                                       \
    multiply_s8<T, Product::what, width>(args);                                                               \
  }

// Of one type of half, and of bytes.
#define ENCODER_KERNELS(T, width)                                                                             \
  PRODUCT_KERNELS(T, width, 0, 128x128)                                                                       \
  PRODUCT_KERNELS(T, width, 1, 128x64)                                                                        \
  PRODUCT_KERNELS(T, width, 2, 64x64)                                                                         \
  PRODUCT_KERNEL(cross_kv, , T, width, 80, 0, 128x128) /* so many columns that it always fills a chip */      \
  PRODUCT_S8_KERNEL(qkv, _##T, T, width)                                                                      \
  KERNEL(layer_norm_##T##_##width, kLayerNormThreads, 4, LayerNormArgs) { layer_norm<T, width>(args); }
#define ENCODER_S8_KERNELS(width)                                                                             \
  PRODUCT_S8_KERNEL(fc1, , s8x2, width)                                                                       \
  PRODUCT_S8_KERNEL(fc2, , s8x2, width)                                                                       \
  KERNEL(layer_norm_s8_##width, kLayerNormThreads, 4, LayerNormArgs) { layer_norm<s8x2, width>(args); }
