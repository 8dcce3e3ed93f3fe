// Everything of the decoder that depends on the model's width, as kernels: decoder_<width>.cu asks for one width's.
#pragma once

#include "kernels/cuda/embed.cuh"
#include "kernels/cuda/logits.cuh"
#include "kernels/cuda/small_product.cuh"

#define SMALL_PRODUCTS(type, W, T, width, rows)                                                                      \
  KERNEL(step_qkv_##type##_##width##_##rows, split_warps(width) * 32, 1, QkvArgs) {                                  \
    qkv_product<W, T, width, rows>(args);                                                                            \
  }                                                                                                                  \
  KERNEL(step_out_##type##_##width##_##rows, split_warps(width) * 32, 1, ResidualArgs) {                             \
    residual_product<W, T, width, width, rows>(args);                                                                \
  }                                                                                                                  \
  KERNEL(step_fc1_##type##_##width##_##rows, split_warps(width) * 32, 1, Fc1Args) {                                  \
    fc1_product<W, T, width, rows>(args);                                                                            \
  }                                                                                                                  \
  KERNEL(step_fc2_##type##_##width##_##rows, split_warps(4 * width) * 32, 1, ResidualArgs) {                         \
    residual_product<W, T, width, 4 * width, rows>(args);                                                            \
  }                                                                                                                  \
  KERNEL(logits_##type##_##width##_##rows, kLogitThreads, 1, LogitsArgs) { logits<W, T, width, rows>(args); }

// type: of the weights, in kernels' names; W: the same; T: of the operands.
#define DECODER_KERNELS(type, W, T, width)                                                                           \
  SMALL_PRODUCTS(type, W, T, width, 8)                                                                               \
  SMALL_PRODUCTS(type, W, T, width, 16)                                                                              \
  SMALL_PRODUCTS(type, W, T, width, 32)                                                                              \
  KERNEL(raw_logits_##type##_##width, kLogitThreads, 1, RawLogitsArgs) { raw_logits<W, T, width, kRawRows>(args); }  \
  KERNEL(embed_step_##type##_##width, kEmbedThreads, 1, EmbedArgs) { embed<W, T, width, true>(args); }               \
  KERNEL(embed_rows_##type##_##width, kEmbedThreads, 1, EmbedArgs) { embed<W, T, width, false>(args); }
