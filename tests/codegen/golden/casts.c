#include <stdint.h>

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

typedef struct gpuc_cpu_env gpuc_cpu_env;
struct gpuc_cpu_env {
    uint64_t struct_size;
    void (*parallel_for)(const gpuc_cpu_env *env, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg);
    void *host;
};

typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8_any __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef uint8_t u8x8 __attribute__((vector_size(8)));
typedef uint8_t u8x8_any __attribute__((vector_size(8), aligned(1), may_alias));
typedef int8_t i8x8 __attribute__((vector_size(8)));
typedef int8_t i8x8_any __attribute__((vector_size(8), aligned(1), may_alias));

static inline f32x8 gpuc_keep_f32x8(f32x8 a)
{
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#if 32 * 8 == 128 || (32 * 8 == 256 && defined(__AVX__)) || (32 * 8 == 512 && defined(__AVX512F__))
    __asm__("" : "+v"(a));
#endif
#endif
    return a;
}

static inline f32x8 gpuc_load_f32x8(const float *a)
{
    return *(const f32x8_any *)a;
}

static inline f32x8 gpuc_select_f32x8(i32x8 a, f32x8 b, f32x8 c)
{
    return (f32x8)((a & (i32x8)b) | (~a & (i32x8)c));
}

static inline void gpuc_store_u8x8(uint8_t *a, u8x8 b)
{
    *(u8x8_any *)a = b;
}

static inline f32x8 gpuc_splat_f32x8(float a)
{
    return (f32x8){a, a, a, a, a, a, a, a};
}

static inline i32x8 gpuc_isnan_f32x8(f32x8 a)
{
    return a != a;
}

static inline void gpuc_store_i8x8(int8_t *a, i8x8 b)
{
    *(i8x8_any *)a = b;
}

struct casts_args {
    const float *A;
    uint8_t *C;
    int8_t *D;
};

static void casts_body(void *arg, int64_t begin, int64_t end)
{
    const struct casts_args *args = arg;
    const float *restrict A = args->A;
    uint8_t *restrict C = args->C;
    int8_t *restrict D = args->D;
    for (int32_t i = (int32_t)begin; i < (int32_t)end; i++) {
        const f32x8 v = gpuc_keep_f32x8(gpuc_load_f32x8(&A[i * 8]));
        const f32x8 t = gpuc_select_f32x8(0.0f < v, v, (f32x8){0});
        gpuc_store_u8x8(&C[i * 8], __builtin_convertvector(__builtin_convertvector(gpuc_select_f32x8(t < 255.0f, t, gpuc_splat_f32x8(255.0f)), i32x8), u8x8));
        const f32x8 t_1 = gpuc_select_f32x8(gpuc_isnan_f32x8(v), (f32x8){0}, v);
        const f32x8 t_2 = gpuc_select_f32x8(-128.0f < t_1, t_1, gpuc_splat_f32x8(-128.0f));
        gpuc_store_i8x8(&D[i * 8], __builtin_convertvector(__builtin_convertvector(gpuc_select_f32x8(t_2 < 127.0f, t_2, gpuc_splat_f32x8(127.0f)), i32x8), i8x8));
    }
}

EXPORT int casts(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    const float *restrict A = tensors[0];
    uint8_t *restrict C = tensors[1];
    int8_t *restrict D = tensors[2];
    struct casts_args args = {A, C, D};
    env->parallel_for(env, 0, 8, casts_body, &args);
    return 0;
}
