/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#define GROUPS "  for bx in 0..16 bind blockIdx.x {\n    for tx in 0..8 bind threadIdx.x {\n"
#define END "    }\n  }\n}\n"

const kernel_text kernel_texts[] = {
    {"a guard, a symbolic size",
     ON_ALL,
     {100},
     "func add(A: float32[100] global, B: float32[100] global, C: float32[100] global, n: int32) {\n" GROUPS
     "      if (bx*8 + tx < int64(n)) { C[bx*8 + tx] = A[bx*8 + tx] + B[bx*8 + tx] }\n" END},
    {"more rounds than Mesa's llvmpipe runs",
     ON_ALL,
     {0},
     "func rounds(A: int32[128] global, C: int32[128] global) {\n" GROUPS "      C[bx*8 + tx] = 0\n"
     "      for i in 0..300 { for j in 0..301 { C[bx*8 + tx] = C[bx*8 + tx] + A[(i + j) % 128] } }\n" END},
    {"a tile in shared memory, read by other threads",
     ON_ALL,
     {0},
     "func reverse(A: int32[128] global, C: int32[128] global) {\n"
     "  for bx in 0..16 bind blockIdx.x {\n"
     "    alloc S: int32[8] shared\n"
     "    for tx in 0..8 bind threadIdx.x { S[tx] = A[bx*8 + tx] }\n"
     "    for tx in 0..8 bind threadIdx.x { C[bx*8 + tx] = S[7 - tx] * 3 }\n"
     "  }\n}\n"},
    {"small types and bool in shared memory",
     ON_ALL,
     {0},
     "func small(A: int8[128] global, B: uint16[128] global, C: int8[128] global, P: bool[128] global) {\n"
     "  for bx in 0..16 bind blockIdx.x {\n"
     "    alloc S: int8[8] shared\n    alloc T: uint16[8] shared\n    alloc U: bool[8] shared\n"
     "    for tx in 0..8 bind threadIdx.x {\n"
     "      S[tx] = A[bx*8 + tx]\n      T[tx] = B[bx*8 + tx]\n      U[tx] = A[bx*8 + tx] < int8(0)\n    }\n"
     "    for tx in 0..8 bind threadIdx.x {\n"
     "      C[bx*8 + tx] = S[7 - tx] + int8(T[7 - tx])\n      P[bx*8 + tx] = !U[7 - tx]\n    }\n"
     "  }\n}\n"},
    {"a matrix product from shared tiles",
     ON_ALL,
     {0},
     "func matmul(A: float32[32, 32] global, B: float32[32, 32] global, C: float32[32, 32] global) {\n"
     "  for by in 0..4 bind blockIdx.y { for bx in 0..4 bind blockIdx.x {\n"
     "    alloc SA: float32[8, 8] shared\n    alloc SB: float32[8, 8] shared\n    alloc acc: float32[1] "
     "local\n"
     "    for ty in 0..8 bind threadIdx.y { for tx in 0..8 bind threadIdx.x {\n"
     "      acc[0] = 0.0\n"
     "      for k in 0..4 {\n"
     "        SA[ty, tx] = A[by*8 + ty, k*8 + tx]\n"
     "        SB[ty, tx] = B[k*8 + ty, bx*8 + tx]\n"
     "        for i in 0..8 { acc[0] = acc[0] + SA[ty, i]*SB[i, tx] }\n"
     "      }\n"
     "      C[by*8 + ty, bx*8 + tx] = acc[0]\n"
     "    } }\n  } }\n}\n"},
    {"a product of cooperative matrices, one of them transposed",
     ON_ALL,
     {0},
     "func product(A: float16[32, 16] global, B: float16[16, 16] global, C: float32[32, 16] global) {\n"
     "  for y in 0..2 bind threadIdx.y {\n"
     "    alloc S: float16[16, 16] shared\n    alloc P: float16[256] coopmat\n"
     "    alloc Q: float16[256] coopmat\n    alloc R: float32[256] coopmat\n"
     "    for t in 0..8 bind threadIdx.x { for i in 0..16 { S[i, y*8 + t] = B[i, y*8 + t] } }\n"
     "    attr coopmat { for i in 0..16 { for j in 0..16 { R[i*16 + j] = 0.5 } } }\n"
     "    attr coopmat { for i in 0..16 { for j in 0..16 { P[i*16 + j] = A[y*16 + i, j] } } }\n"
     "    attr coopmat { for i in 0..16 { for j in 0..16 { Q[i*16 + j] = S[i, j] } } }\n"
     "    attr coopmat { for i in 0..16 { for j in 0..16 { for k in 0..16 {\n"
     "      R[i*16 + j] = R[i*16 + j] + float32(P[i*16 + k])*float32(Q[j*16 + k])\n    } } } }\n"
     "    attr coopmat { for i in 0..16 { for j in 0..16 { C[y*16 + i, j] = R[i*16 + j] } } }\n"
     "  }\n}\n"},
    {"a register tile in vectors",
     ON_ALL,
     {0},
     "func tile(A: float32[32, 24] global, B: float32[24, 32] global, C: float32[32, 32] global) {\n"
     "  for i in 0..8 bind blockIdx.x {\n"
     "    alloc acc: float32[4, 32] local\n"
     "    for r in 0..4 unrolled { for j in 0..32 vectorized { acc[r, j] = 0.0 } }\n"
     "    for k in 0..24 { for r in 0..4 unrolled { for j in 0..32 vectorized {\n"
     "      acc[r, j] = acc[r, j] + A[i*4 + r, k]*B[k, j]\n    } } }\n"
     "    for r in 0..4 unrolled { for j in 0..32 vectorized { C[i*4 + r, j] = max(acc[r, j], 0.0) } }\n"
     "  }\n}\n"},
    {"a tile that is read element by element and written in vectors",
     ON_ALL,
     {0},
     "func mixed(A: float32[16, 8] global, C: float32[16, 8] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    alloc t: float32[8] local\n"
     "    for j in 0..8 vectorized { t[j] = A[i, j] * 2.0 }\n"
     "    for j in 0..8 { C[i, j] = t[7 - j] - t[j] }\n  }\n}\n"},
    {"a tile of odd width",
     ON_ALL,
     {0},
     "func oddtile(A: float32[16, 24] global, B: float32[24, 12] global, C: float32[16, 12] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    alloc acc: float32[12] local\n"
     "    for j in 0..12 vectorized { acc[j] = 1.0 }\n"
     "    for k in 0..24 { for j in 0..12 vectorized { acc[j] = acc[j] + A[i, k]*B[k, j] } }\n"
     "    for j in 0..12 vectorized { C[i, j] = acc[j] }\n  }\n}\n"},
    {"vectors stored past the caches, where they begin as they should and where they do not",
     ON_ALL,
     {0},
     "func stream(A: float32[16, 48] global, I: int8[16, 48] global, P: bool[16, 48] global non_temporal, "
     "C: float32[16, 48] global non_temporal, D: int8[16, 48] global non_temporal, "
     "E: float32[16, 20] global non_temporal) {\n"
     "  for i in 0..16 bind blockIdx.x {\n"
     "    for k in 0..3 { for j in 0..16 vectorized {\n"
     "      C[i, k*16 + j] = A[i, k*16 + j]*2.0\n      D[i, k*16 + j] = I[i, k*16 + j] + int8(1)\n"
     "      P[i, k*16 + j] = A[i, k*16 + j] < 0.0\n    } }\n"
     "    for j in 0..16 vectorized { E[i, j] = C[i, j] - 1.0 }\n"
     "    for j in 16..20 { E[i, j] = 3.0 }\n"
     "  }\n}\n"},
    {"a tile in vectors with a scalar tail",
     ON_ALL,
     {0},
     "func tail(A: float32[16, 16] global, C: float32[16, 16] global, D: float32[16] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    alloc acc: float32[16] local\n"
     "    for j in 0..16 vectorized { acc[j] = 0.0 }\n    acc[3] = 2.0\n"
     "    for k in 0..4 { for j in 0..16 vectorized { acc[j] = acc[j] + A[i, j] } }\n"
     "    for j in 0..16 vectorized { C[i, j] = acc[j] }\n    D[i] = acc[0] + acc[3]*acc[15]\n  }\n}\n"},
    {"parts of vectors in registers",
     ON_ALL,
     {0},
     "func parts(A: float32[64] global, C: float32[64] global) {\n  for bx in 0..2 bind blockIdx.x {\n"
     "    alloc R: float32[32] local\n"
     "    R[ramp(0, 1, 16)] = A[ramp(bx*32, 1, 16)]\n    R[ramp(16, 1, 16)] = A[ramp(bx*32 + 16, 1, 16)]\n"
     "    R[ramp(24, 1, 8)] = R[ramp(24, 1, 8)] + A[ramp(bx*32, 1, 8)] * R[ramp(8, 1, 8)]\n"
     "    R[ramp(4, 1, 4)] = R[ramp(16, 1, 4)] - A[ramp(bx*32 + 3, 1, 4)]\n"
     "    R[ramp(2, 1, 2)] = R[ramp(29, 1, 2)]\n    R[31] = R[7]\n"
     "    C[ramp(bx*32, 1, 16)] = R[ramp(0, 1, 16)]\n    C[ramp(bx*32 + 16, 1, 16)] = R[ramp(16, 1, 16)]\n"
     "  }\n}\n"},
    {"registers read at computed places between vectors",
     ON_ALL,
     {0},
     "func between(A: float32[16, 16] global, I: uint8[16] global, C: float32[16, 16] global, D: float32[16] "
     "global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    alloc R: float32[16] local\n"
     "    for j in 0..4 { R[ramp(j*4, 1, 4)] = A[i, ramp(j*4, 1, 4)]*broadcast(2.0, 4) }\n"
     "    D[i] = R[int64(I[i] % uint8(16))]\n"
     "    for j in 0..4 { R[ramp(j*4, 1, 4)] = R[ramp(j*4, 1, 4)] + broadcast(D[i], 4) }\n"
     "    for j in 0..4 { C[i, ramp(j*4, 1, 4)] = R[ramp(j*4, 1, 4)] }\n  }\n}\n"},
    {"vectors of odd lanes",
     ON_ALL,
     {0},
     "func odd(A: float32[16, 7] global, B: float32[16, 12] global, C: float32[16, 7] global, D: float32[16, "
     "12] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n"
     "    for j in 0..7 vectorized { C[i, j] = A[i, j]*3.0 + float32(j) }\n"
     "    for j in 0..12 vectorized { D[i, j] = select(B[i, j] < 0.0, 0.0 - B[i, j], B[i, j] + 1.0) }\n  "
     "}\n}\n"},
    {"vectors that no language has, written out",
     ON_ALL,
     {0},
     "func written(A: float32[16, 23] global, C: float32[16, 23] global, D: float32[16] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n"
     "    let x = A[i, ramp(0, 1, 3)]*broadcast(2.0, 3)\n"
     "    C[i, ramp(0, 1, 3)] = x + broadcast(A[i, 22], 3)\n"
     "    C[i, ramp(3, 1, 5)] = A[i, ramp(4, 1, 5)]*A[i, ramp(3, 1, 5)]\n"
     "    C[i, ramp(8, 1, 15)] = A[i, ramp(8, 1, 15)] - broadcast(1.0, 15)\n"
     "    D[i] = lane(x, 2)\n  }\n}\n"},
    {"gathers, strides and scatters in vectors",
     ON_ALL,
     {0},
     "func scatter(A: float32[16, 8] global, I: uint8[16, 8] global, C: float32[16, 16] global, D: "
     "float32[16, 8] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n"
     "    for j in 0..8 vectorized { C[i, j*2 + 1] = A[i, 7 - j] }\n"
     "    for j in 0..8 vectorized { C[i, 14 - j*2] = A[i, j] * 2.0 }\n"
     "    for j in 0..8 vectorized { D[i, j] = A[i, int64(I[i, j] % uint8(8))] + A[i, 3] }\n  }\n}\n"},
    {"a vector store that overlaps with its own loads",
     ON_ALL,
     {0},
     "func shift(A: float32[640] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n"
     "    A[ramp(i*40, 1, 16)] = A[ramp(i*40 + 3, 1, 16)] + A[ramp(i*40, 1, 16)]\n  }\n}\n"},
    {"a lazy choice that guards its load",
     ON_ALL,
     {0},
     "func pad(A: float32[16] global, C: float32[20] global) {\n"
     "  for i in 0..20 bind blockIdx.x {\n"
     "    C[i] = if_then_else(2 <= i && i < 18, A[i - 2], -1.0)\n  }\n}\n"},
    {"lazy choices in vectors",
     ON_ALL,
     {0},
     "func pads(A: float32[16, 6] global, C: float32[16, 8] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    for j in 0..8 vectorized {\n"
     "      C[i, j] = if_then_else(1 <= j && j < 7, A[i, j - 1], 0.5)\n    }\n  }\n}\n"},
    {"vectors of bool where a thread decides",
     ON_ALL,
     {0},
     "func edge(P: bool[64] global, Q: bool[64] global, C: int8[64] global) {\n"
     "  for bx in 0..4 bind blockIdx.x { for tx in 0..4 bind threadIdx.x {\n"
     "    for k in 0..4 vectorized {\n"
     "      Q[bx*16 + tx*4 + k] = select(tx < 2, P[bx*16 + tx*4 + k], false)\n"
     "      C[bx*16 + tx*4 + k] = int8(select(tx < 2, false, P[bx*16 + tx*4 + k]))\n"
     "    }\n  } }\n}\n"},
    {"vectors of bool",
     ON_ALL,
     {0},
     "func truth(A: float32[16, 8] global, P: bool[16, 8] global, Q: bool[16, 8] global, C: float32[16, 8] "
     "global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    for j in 0..8 vectorized {\n"
     "      let m = P[i, j] && (A[i, j] < 0.0 || !(A[i, j] < 1.0))\n"
     "      Q[i, j] = m == P[i, j]\n"
     "      C[i, j] = select(m, A[i, j], 5.0) + float32(m)\n    }\n  }\n}\n"},
    {"masks of several widths",
     ON_ALL,
     {0},
     "func masks(A: int8[16, 8] global, B: float32[16, 8] global, C: int8[16, 8] global, D: float32[16, 8] "
     "global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    for j in 0..8 vectorized {\n"
     "      C[i, j] = select(A[i, j] < int8(3) && B[i, j] < 0.5, A[i, j], int8(7))\n"
     "      D[i, j] = select(A[i, j] < int8(3) || B[i, j] < 0.5, B[i, j], 2.0)\n    }\n  }\n}\n"},
    {"data that wraps",
     ON_ALL,
     {0},
     "func wrap(A: int32[16, 8] global, B: int32[16, 8] global, C: int32[16, 8] global, D: int8[16, 8] "
     "global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n"
     "    for j in 0..8 vectorized { C[i, j] = A[i, j]*A[i, j]*B[i, j] - B[i, j]*65537 }\n"
     "    for j in 0..8 { D[i, j] = int8(A[i, j])*int8(B[i, j]) + int8(C[i, j]) }\n  }\n}\n"},
    {"an accumulator of int8 products",
     ON_ALL,
     {0},
     "func dot(A: int8[16, 32] global, B: uint8[32] global, C: int32[16] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    alloc acc: int32[1] local\n    acc[0] = int32(0)\n"
     "    for k in 0..32 { acc[0] = acc[0] + int32(A[i, k])*int32(B[k]) }\n    C[i] = acc[0]\n  }\n}\n"},
    {"divisions of indices below zero",
     ON_ALL,
     {0},
     "func divisions(A: int32[64] global, C: int32[64] global, D: int32[64] global) {\n"
     "  for i in 0..64 bind blockIdx.x {\n"
     "    C[i] = A[(i - 40) %% 64] + int32((i - 30) // 7)\n"
     "    D[i] = int32((i - 30) %% 7)*100 + int32((i - 30) // -4)\n  }\n}\n"},
    {"scalars of all types",
     ON_ALL | WITH_INT64,
     {-3, INT64_C(1) << 40, 0x3ff8000000000000, 77},
     "func scalars(A: float32[4] global, I: int32[4] global, a: int32, b: int64, s: float32, c: int32) {\n"
     "  for i in 0..4 bind blockIdx.x {\n"
     "    A[i] = s * float32(i)\n    I[i] = a + int32(b // 1099511627776) + c\n  }\n}\n"},
    {"more parameters than push constants hold",
     ON_ALL,
     {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
      21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40},
     "func many(I: int32[4] global, a: int32, b: int32, c: int32, d: int32, e: int32, f: int32, g: int32, h: "
     "int32, i: int32, "
     "j: int32, k: int32, l: int32, m: int32, n: int32, o: int32, p: int32, q: int32, r: int32, s: int32, t: "
     "int32, "
     "aa: int32, ab: int32, ac: int32, ad: int32, ae: int32, af: int32, ag: int32, ah: int32, ai: int32, aj: "
     "int32, ak: int32, "
     "al: int32, am: int32, an: int32, ao: int32, ap: int32, aq: int32, ar: int32, as: int32, at: int32) {\n"
     "  for x in 0..4 bind blockIdx.x {\n"
     "    I[x] = a + b*c + d*e + f*g + h*i + j*k + l*m + n*o + p*q + r*s + t*aa + ab*ac + ad*ae + af*ag + "
     "ah*ai + aj*ak + "
     "al*am + an*ao + ap*aq + ar*as + at*int32(x)\n  }\n}\n"},
    {"atomics on integers",
     ON_ALL,
     {0},
     "func histogram(A: uint8[256] global, H: int32[8] global, M: int32[2] global) {\n"
     "  for bx in 0..32 bind blockIdx.x { for tx in 0..8 bind threadIdx.x {\n"
     "    atomic_add(&H, int64(A[bx*8 + tx] % uint8(8)), int32(1))\n"
     "    atomic_min(&M, 0, int32(A[bx*8 + tx]))\n"
     "    atomic_max(&M, 1, int32(A[bx*8 + tx]))\n  } }\n}\n"},
    {"atomics on floats",
     ON_ALL,
     {0},
     "func sums(A: uint8[256] global, S: float32[3] global) {\n"
     "  for bx in 0..32 bind blockIdx.x { for tx in 0..8 bind threadIdx.x {\n"
     "    atomic_add(&S, 0, float32(A[bx*8 + tx]))\n"
     "    atomic_min(&S, 1, float32(A[bx*8 + tx]))\n"
     "    atomic_max(&S, 2, float32(A[bx*8 + tx]))\n  } }\n}\n"},
    {"parameters that overlap",
     ON_ALL,
     {0},
     "func overlap(A: float32[16, 8] global, C: float32[16, 8] global) aliased {\n"
     "  for i in 0..16 bind blockIdx.x {\n    for j in 0..8 vectorized { C[i, j] = A[i, j] + 1.0 }\n  "
     "}\n}\n"},
    {"copies of float16 and bfloat16",
     ON_ALL,
     {0},
     "func copies(A: float16[16, 8] global, B: bfloat16[16, 8] global, C: float16[8, 16] global, D: "
     "bfloat16[8, 16] global) {\n"
     "  for i in 0..16 bind blockIdx.x { for j in 0..8 {\n    C[j, i] = A[i, j]\n    D[j, i] = B[i, j]\n  } "
     "}\n}\n"},
    {"arithmetic on float16",
     ON_ALL,
     {0},
     "func halves(A: float16[16, 8] global, B: float32[16, 8] global, C: float16[16, 8] global) {\n"
     "  for i in 0..16 bind blockIdx.x { for j in 0..8 vectorized {\n"
     "    C[i, j] = max(A[i, j]*float16(2.0) + float16(B[i, j]), float16(0.0))\n  } }\n}\n"},
    {"bits of floats",
     ON_ALL,
     {0},
     "func bits(A: float32[64] global, C: int32[64] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n"
     "    let x = reinterpret<int32x4>(A[ramp(i*4, 1, 4)])\n"
     "    C[ramp(i*4, 1, 4)] = bitand(x, broadcast(int32(2147483647), 4))\n  }\n}\n"},
    {"names with a meaning of their own",
     ON_ALL,
     {3},
     "func kernel(float: float32[16] global, expf: float32[16] global, int: int32) {\n"
     "  for get_group_id in 0..16 bind blockIdx.x {\n    let while = float[get_group_id] * float32(int)\n"
     "    let memcpy = exp(while)\n    expf[get_group_id] = memcpy + while\n  }\n}\n"},
    {"lets and copies of one body",
     ON_ALL,
     {0},
     "func lets(A: float32[16, 8] global, C: float32[16, 8] global) {\n  for i in 0..16 bind blockIdx.x {\n"
     "    for j in 0..8 unrolled {\n      alloc t: float32[2] local\n      let x = A[i, j]\n      let y = "
     "x*x + 1.0\n"
     "      t[0] = y\n      t[1] = x\n      C[i, j] = sqrt(t[0])*t[1]\n    }\n  }\n}\n"},
    {"loop bounds that are data",
     ON_ALL,
     {0},
     "func ragged(N: uint8[16] global, A: float32[16, 8] global, C: float32[16] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n    C[i] = 0.0\n"
     "    for j in 0..int64(N[i] % uint8(9)) { C[i] = C[i] + A[i, j] }\n  }\n}\n"},
    {"a sum over the threads of a group",
     ON_ALL,
     {0},
     "func sums(A: float32[16, 64] global, C: float32[16] global) {\n  for bx in 0..16 bind blockIdx.x {\n"
     "    for tx in 0..64 bind threadIdx.x {\n      alloc r: float32[1] local\n"
     "      r[0] = A[bx, tx] + 1.0\n"
     "      attr allreduce \"threadIdx.x\" with sum float32 { C[bx] = r[0] }\n    }\n  }\n}\n"},
    {"a tree in shared memory, by hand",
     ON_ALL,
     {0},
     "func tree(A: float32[16, 64] global, C: float32[16] global) {\n  for bx in 0..16 bind blockIdx.x {\n"
     "    alloc S: float32[64] shared\n    for tx in 0..64 bind threadIdx.x {\n      S[tx] = A[bx, tx]\n"
     "      barrier()\n"
     "      for s in 0..6 {\n        let half = int64(shr(int32(32), int32(s)))\n"
     "        if (tx < half) { S[tx] = S[tx] + S[tx + half] }\n        barrier()\n      }\n"
     "      if (tx == 0) { C[bx] = S[0] }\n    }\n  }\n}\n"},
    {"a register that is written and read under conditions that agree, behind a barrier",
     ON_ALL,
     {0},
     "func upsample(A: float32[7, 7] global, C: float32[14, 14] global) {\n"
     "  for bx in 0..2 bind blockIdx.x {\n    for by in 0..4 bind blockIdx.y {\n"
     "      alloc T: float32[4, 2] shared\n      for i in 0..4 {\n        if (bx*4 + i < 7) {\n"
     "          for j in 0..2 {\n            if (by*2 + j < 7) { T[i, j] = A[bx*4 + i, by*2 + j]*3.0 }\n"
     "          }\n        }\n      }\n"
     "      for tx in 0..8 bind threadIdx.x {\n        for ty in 0..4 bind threadIdx.y {\n"
     "          alloc L: float32[1] local\n"
     "          if (bx*4 + tx // 2 < 7 && by*2 + ty // 2 < 7) { L[0] = T[tx // 2, ty // 2] }\n"
     "          if (bx*8 + tx < 14 && by*4 + ty < 14) { C[bx*8 + tx, by*4 + ty] = L[0] }\n"
     "        }\n      }\n    }\n  }\n}\n"},
    {"two registers of which one is written at first and one under a condition, in a loop with barriers",
     ON_OPENCL | ON_VULKAN | RAW,
     {0},
     "func buffers(W: float32[32] global, C: float32[144] global) stage target launch "
     "(ty: int32 = threadIdx.y of int32(3), tz: int32 = threadIdx.z of int32(4)) {\n"
     "  for r: int32 in 0..4 {\n    alloc L: float32[2] local\n    L[int32(0)] = 1.0\n"
     "    for f: int32 in 0..3 {\n      if (f < 2) { L[1 - f] = W[r*3 + ty + 2] }\n      barrier()\n"
     "      C[(r*3 + f)*12 + tz*3 + ty] = W[r*2 + ty]*L[bitand(f, 1)]\n    }\n  }\n}\n"},
    {"a loop under a condition, in one with barriers",
     ON_ALL,
     {0},
     "func guarded(A: float32[16, 64] global, C: float32[16, 64] global) {\n"
     "  for bx in 0..16 bind blockIdx.x {\n    alloc S: float32[64] shared\n"
     "    for tx in 0..64 bind threadIdx.x {\n      C[bx, tx] = 0.0\n"
     "      for s in 0..4 {\n        barrier()\n        S[tx] = A[bx, (tx + s) %% 64]\n        barrier()\n"
     "        if (bx < 9) { for k in 0..8 { C[bx, tx] = C[bx, tx] + S[(tx + k) %% 64] } }\n      }\n"
     "    }\n  }\n}\n"},
    {"wide loads that the lanes of a group share",
     ON_ALL,
     {0},
     "func broadcast(A: float32[16] global, B: float32[16, 16] global, C: float32[16, 16] global) {\n"
     "  for i in 0..16 bind blockIdx.x { for j in 0..16 vectorized { C[i, j] = A[i]*B[i, j] + A[15 - i] } "
     "}\n}\n"},
    {"texel reads, whole and single",
     ON_ALL,
     {0},
     "func texels(A: float32[16, 8] global.texel, I: int32[16, 8] global.texel, C: float32[16, 8] "
     "global, D: float32[16] global, "
     "E: int32[16, 8] global) {\n"
     "  for i in 0..16 bind blockIdx.x {\n"
     "    for j in 0..8 vectorized { C[i, j] = A[i, j] * 2.0 }\n"
     "    for j in 0..8 vectorized { E[i, j] = I[i, j] + int32(1) }\n"
     "    D[i] = A[i, 5] + A[15 - i, i %% 8]\n  }\n}\n"},
    {"sums and shuffles in a subgroup",
     ON_VULKAN | WITH_SUBGROUPS | RAW,
     {0},
     "func subgroups(A: float32[128] global, C: float32[128] global, D: float32[16] global) subgroup 8 stage "
     "target "
     "launch (bx: int32 = blockIdx.x of int32(16), tx: int32 = threadIdx.x of int32(8)) {\n"
     "  let x = A[bx*8 + tx]\n  let s = subgroup_add(x)\n"
     "  C[bx*8 + tx] = subgroup_shuffle(x, 7 - subgroup_lane<int32>()) + subgroup_max(x)\n"
     "  if (tx == 0) { D[bx] = s }\n}\n"},
    {"parallel loops of C, one inside of another",
     ON_C,
     {5},
     "func nested(A: float32[8, 40] global, C: float32[8, 40] global, n: int32) {\n"
     "  for i in 0..8 parallel { for j in 0..40 parallel { C[i, j] = A[i, j] * float32(n) } }\n"
     "  for i in 0..40 parallel { C[3, i] = A[4, i] - C[2, i] }\n}\n"},
    {"storage outside of a parallel loop",
     ON_C,
     {0},
     "func outside(A: float32[8, 16] global, C: float32[8, 16] global) {\n  for k in 0..8 {\n"
     "    alloc t: float32[16] local\n    alloc one: float32[1] local\n    one[0] = A[k, 0]\n"
     "    for i in 0..16 parallel { t[i] = A[k, i] * one[0] }\n"
     "    for i in 0..16 parallel { C[k, i] = t[15 - i] }\n  }\n}\n"},
    {"an array too large for a stack",
     ON_C,
     {0},
     "func large(A: float32[64] global, C: float32[64] global) {\n  for k in 0..2 parallel {\n"
     "    alloc t: float32[65536] local\n    for i in 0..65536 { t[i] = A[i %% 64] }\n"
     "    for i in 0..32 { C[k*32 + i] = t[65535 - i] }\n  }\n}\n"},
    {"prefetches of each width, in memory that vectors are read from",
     ON_ALL | WITH_INT64,
     {0},
     "func ahead(A: float32[64] global, H: float16[64] global, L: int64[64] global, C: float32[64] global) "
     "{\n"
     "  for k in 0..4 bind blockIdx.x {\n    for i in 0..4 {\n      if (k*16 + i*4 + 8 < 64) {\n"
     "        prefetch<bool>(&A, k*16 + i*4 + 8)\n        prefetch<bool>(&H, k*16 + i*4 + 7)\n"
     "        prefetch<bool>(&L, k*16 + i*4 + 5)\n      }\n      for j in 0..4 vectorized {\n"
     "        C[k*16 + i*4 + j] = A[k*16 + i*4 + j] + float32(H[k*16 + i*4 + j]) + float32(L[k*16 + i*4 + "
     "j])\n"
     "      }\n    }\n  }\n}\n"},
};
const int num_kernel_texts = sizeof kernel_texts / sizeof *kernel_texts;
