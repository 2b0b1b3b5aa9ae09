/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the conformance suite as the C generator writes them; compiled when the suite runs. */
#include <stdint.h>
#include <string.h>

typedef struct gpuc_cpu_env gpuc_cpu_env;
struct gpuc_cpu_env {
    uint64_t struct_size;
    void (*parallel_for)(const gpuc_cpu_env *env, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg);
    void *host;
};

struct vadd_arg {
    const float *a, *b;
    float *c;
    int64_t n;
};

static void vadd_body(void *p, int64_t begin, int64_t end)
{
    struct vadd_arg *arg = p;
    for (int64_t i = begin * 64; i < end * 64 && i < arg->n; i++) arg->c[i] = arg->a[i] + arg->b[i];
}

int vadd(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    struct vadd_arg arg = {tensors[0], tensors[1], tensors[2], scalars[0]};
    env->parallel_for(env, 0, (scalars[0] + 63) / 64, vadd_body, &arg);
    return 0;
}

struct affine_arg {
    const float *x;
    float *y;
    float k;
};

static void affine_body(void *p, int64_t begin, int64_t end)
{
    struct affine_arg *arg = p;
    for (int64_t i = begin; i < end; i++) arg->y[i] = arg->x[i] * arg->k + 1.0f;
}

int affine(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    double k;
    memcpy(&k, &scalars[0], sizeof k);
    struct affine_arg arg = {tensors[0], tensors[1], (float)k};
    env->parallel_for(env, 0, scalars[1], affine_body, &arg);
    return 0;
}

/* For steps of the fallback device: the kernels of a program have different names. */
int affine_host(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    return affine(env, tensors, scalars);
}

/* A variant of affine, with another result, so that it can be seen to run. */
int affine_rich(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars)
{
    float *y = tensors[1];
    int status = affine(env, tensors, scalars);
    for (int64_t i = 0; i < scalars[1]; i++) y[i] += 1.0f;
    return status;
}

int scalars(const gpuc_cpu_env *env, void *const *tensors, const int64_t *s)
{
    int32_t *out = tensors[0];
    double d;
    (void)env;
    if (s[3] <= 0) return 0;
    memcpy(&d, &s[2], sizeof d);
    float f = (float)d;
    out[0] = (int32_t)s[0];
    out[1] = (int32_t)(uint64_t)s[1];
    out[2] = (int32_t)((uint64_t)s[1] >> 32);
    memcpy(&out[3], &f, sizeof f);
    out[4] = (int32_t)s[3];
    return 0;
}

int broken(const gpuc_cpu_env *env, void *const *tensors, const int64_t *s)
{
    (void)env;
    (void)tensors;
    (void)s;
    return 3;
}
