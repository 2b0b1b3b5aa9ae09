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

static inline float gpuc_exact_f32(float a)
{
    __asm__("" : "+m"(a));
    return a;
}

struct floats_args {
    const float *A;
    const float *B;
    float *C;
    float *D;
};

static void floats_body(void *arg, int64_t begin, int64_t end)
{
    const struct floats_args *args = arg;
    const float *restrict A = args->A;
    const float *restrict B = args->B;
    float *restrict C = args->C;
    float *restrict D = args->D;
    for (int32_t i = (int32_t)begin; i < (int32_t)end; i++) {
        const float v = A[i];
        const float v_1 = B[i];
        const float s = gpuc_exact_f32(v + v_1);
        C[i] = gpuc_exact_f32(v_1 - gpuc_exact_f32(s - v));
        D[i] = v_1 < v || v != v ? v : v_1;
    }
}

EXPORT int floats(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    const float *restrict A = tensors[0];
    const float *restrict B = tensors[1];
    float *restrict C = tensors[2];
    float *restrict D = tensors[3];
    struct floats_args args = {A, B, C, D};
    env->parallel_for(env, 0, 16, floats_body, &args);
    return 0;
}
