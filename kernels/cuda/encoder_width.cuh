// Everything of the encoder that depends on the model's width, as kernels: encoder_<width>.cu asks for one width's.
#pragma once

#include "kernels/cuda/layer_norm.cuh"
#include "kernels/cuda/product.cuh"

#define PRODUCT_KERNEL(what, suffix, T, width, bins, tile, tile_name)                            \
  KERNEL(what##_##T##_##width##suffix##_##tile_name, kTileThreads, 2, ProductArgs) {             \
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

#define ENCODER_KERNELS(T, width)                                                                        \
  PRODUCT_KERNELS(T, width, 0, 128x128)                                                                  \
  PRODUCT_KERNELS(T, width, 1, 128x64)                                                                   \
  PRODUCT_KERNELS(T, width, 2, 64x64)                                                                    \
  PRODUCT_KERNEL(cross_kv, , T, width, 80, 0, 128x128) /* so many columns that it always fills a chip */ \
  KERNEL(layer_norm_##T##_##width, kLayerNormThreads, 4, LayerNormArgs) { layer_norm<T, width>(args); }
