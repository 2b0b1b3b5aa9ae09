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

struct vector_add_args {
    const float *A;
    const float *B;
    float *C;
};

static void vector_add_body(void *arg, int64_t begin, int64_t end)
{
    const struct vector_add_args *args = arg;
    const float *restrict A = args->A;
    const float *restrict B = args->B;
    float *restrict C = args->C;
    for (int32_t bx = (int32_t)begin; bx < (int32_t)end; bx++) {
        for (int32_t tx = 0; tx < 64; tx++) {
            const int32_t i = bx * 64 + tx;
            C[i] = A[i] + B[i];
        }
    }
}

EXPORT int vector_add(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    const float *restrict A = tensors[0];
    const float *restrict B = tensors[1];
    float *restrict C = tensors[2];
    struct vector_add_args args = {A, B, C};
    env->parallel_for(env, 0, 16, vector_add_body, &args);
    return 0;
}
